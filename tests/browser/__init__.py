"""The real app in a real browser: what only the two together can show."""
