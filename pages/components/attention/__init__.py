"""What the Attention screen is made of, and the specimen on Home."""
