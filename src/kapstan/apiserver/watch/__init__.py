"""Watches: fan-out of committed events to clients."""
