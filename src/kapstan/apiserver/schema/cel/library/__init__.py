"""The functions that Kubernetes offers to expressions."""

from kapstan.apiserver.schema.cel.library.authorization import AUTHORIZATION
from kapstan.apiserver.schema.cel.library.conversions import CONVERSIONS
from kapstan.apiserver.schema.cel.library.kubernetes import KUBERNETES
from kapstan.apiserver.schema.cel.library.lists import LISTS
from kapstan.apiserver.schema.cel.library.network import NETWORK
from kapstan.apiserver.schema.cel.library.optionals import OPTIONALS
from kapstan.apiserver.schema.cel.library.standard import STANDARD
from kapstan.apiserver.schema.cel.library.strings import STRINGS

__all__ = ("LIBRARIES",)

LIBRARIES = (STANDARD, CONVERSIONS, OPTIONALS, STRINGS, LISTS, NETWORK, KUBERNETES, AUTHORIZATION)
