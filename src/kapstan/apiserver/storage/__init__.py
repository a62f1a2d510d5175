"""Storage of objects: in memory, or in SQLite behind it."""
