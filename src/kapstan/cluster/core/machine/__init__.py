"""The Machine controller: a computer, what it starts with, the node that it becomes, and its orderly end."""
