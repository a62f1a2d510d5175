"""ResourceQuota: how much a namespace may use, and how much it does."""
