"""Endpoints: where the pods of a Service are reached."""
