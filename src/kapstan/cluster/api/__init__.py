"""The types of every API group, one module a kind."""
