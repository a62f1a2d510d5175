"""The skeleton that the reconcilers of the product share: drafts, phases, pause, conditions, names of the contract."""
