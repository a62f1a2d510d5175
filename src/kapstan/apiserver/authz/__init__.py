"""Authorization: who may do what."""
