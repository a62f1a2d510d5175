"""The operator runtime: informers, work queues, controllers, webhooks, and the manager that runs them."""

import os

# The allocator inside the transport (mimalloc) commits arenas in advance and keeps what a large answer once needed.
# Telling it not to, before it is loaded, saves a manager with 10,000 cached objects 18 of 85 MB, at no cost in time.
os.environ.setdefault("MIMALLOC_ARENA_EAGER_COMMIT", "0")
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "0")
