"""What the Training screen is made of: a new run, and one as it goes."""
