"""Strategies: what is particular about each kind."""
