"""A section that an operator adds to the dashboard, declared so that its pages are imported only to be served. Pure.

SECTIONS = (
    DeclaredSection(
        open="homeostat.web.policy.dashboard.section:open_section",
        rules=(rule(GROUP, ["devopspolicies"], ["get", "list"]),),
    ),
)
"""

from __future__ import annotations

import msgspec

from homeostat.objects.json import JsonObject


class DeclaredSection(msgspec.Struct, frozen=True, kw_only=True):
    open: str
    """A reference (`package.module:name`) to a function from a `Client` and the only namespace of which it may read
    (empty for all) to a `Section` (`web/dashboard/section.py`).
    """
    rules: tuple[JsonObject, ...] = ()
    """The permissions that its pages need in the namespaces of its operator, as rules of RBAC."""
