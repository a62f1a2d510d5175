"""The smallest operator, and a demonstration of it."""
