"""Admission webhooks: programs elsewhere that may change or refuse a write."""
