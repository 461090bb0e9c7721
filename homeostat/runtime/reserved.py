"""Writes that an operator reserves for itself, because whoever could make them would act with its permissions.

RBAC has no rule for them: a role for kinds that are not known beforehand names them by a star, and a star includes the
status. A plane refuses a reserved write of everybody who may not patch the status of the operator's own kind; for a
cluster, `homeostat rbac`, `homeostat deploy` and the chart have policies that do the same.
"""

from __future__ import annotations

import msgspec


class Reserved(msgspec.Struct, frozen=True, kw_only=True):
    """Creations and changes in a group. An empty `resource` stands for every one; `prefix` is how names begin."""

    group: str
    resource: str = ""
    subresource: str = ""
    prefix: str = ""
    owner: str
    """The kind whose status a writer must be allowed to patch: `resourcetypes.homeostat.dev`."""
    is_owner_namespaced: bool = False
    """Whether that permission counts in the namespace of the write, and not only in all."""
