"""Admission: what may change or refuse a write between authorization and storage."""
