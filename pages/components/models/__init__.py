"""What the Models screen is made of: the shelves, fetching, and one model taken apart."""
