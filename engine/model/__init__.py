"""The Transformer, one part a file. Read build.py first: it names every part and where it goes."""
