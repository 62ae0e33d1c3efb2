"""What the Clinic is made of: doors, one case at a time, its evidence and its question."""
