"""Services: their addresses and ports, which the server gives out, and the rules between their fields."""

from kapstan.apiserver.strategy.services.strategy import ServiceStrategy

__all__ = ("ServiceStrategy",)
