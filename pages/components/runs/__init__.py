"""What the Runs screen is made of: the table, curves, attention over training, cutting, diagnosis."""
