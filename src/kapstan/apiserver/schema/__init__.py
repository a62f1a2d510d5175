"""Schemas of kinds: pruning, defaulting and validating objects, and validating the schemas themselves."""
