"""Services: their addresses and ports, which the server gives out, and the rules between their fields."""
