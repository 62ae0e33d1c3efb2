"""What every screen is made of: frame, state, caches, controls, panels, words."""
