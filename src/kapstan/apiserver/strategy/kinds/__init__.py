"""Kinds with hooks that no table can express."""
