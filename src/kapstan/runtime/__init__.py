"""The operator runtime: informers, work queues, controllers, webhooks, and the manager that runs them."""
