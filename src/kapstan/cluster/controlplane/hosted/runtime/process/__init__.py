"""The Process runtime: components as supervised processes of the management plane's machine."""
