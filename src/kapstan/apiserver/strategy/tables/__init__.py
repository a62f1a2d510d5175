"""Tables: the columns and cells with which the server answers `kubectl get`, as Kubernetes prints them.

Kinds that are not here have two columns: the name and when the object was created.
"""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.apiserver.strategy.tables import core, groups, workloads
from kapstan.apiserver.strategy.tables.table import Table

__all__ = ("TABLES", "Table")

# By resource: no two groups have kinds of one plural name, but for events, which are the same kind.
TABLES: Mapping[str, Table] = {**core.TABLES, **workloads.TABLES, **groups.TABLES}
