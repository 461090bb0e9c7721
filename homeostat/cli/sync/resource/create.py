"""`homeostat sync resource create`: creates objects on the server, without comparing."""

from __future__ import annotations

from homeostat.cli.sync.resource.one_way import one_way

command = one_way("create")
