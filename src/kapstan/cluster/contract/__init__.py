"""The contract: what core may read and write on a provider's object, and nothing else."""
