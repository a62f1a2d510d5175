"""Custom resources: from CustomResourceDefinitions to kinds that are served."""
