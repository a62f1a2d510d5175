"""Benchmarks: ours and the peers' programs doing the same work, measured side by side in one run."""
