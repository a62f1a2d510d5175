"""Hosted control planes: run beside the management plane, by whatever runtime there is."""
