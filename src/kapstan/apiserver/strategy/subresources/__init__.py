"""Subresources that answer by themselves: binding, evicting, and what only a running container could answer."""
