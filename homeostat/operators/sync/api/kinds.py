"""All kinds of the operator."""

from __future__ import annotations

from typing import Final

from homeostat.operators.sync.api.policy import SYNC_POLICY
from homeostat.operators.sync.api.record import SYNC_RECORD
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY
from homeostat.operators.sync.api.server import MANAGED_SERVER
from homeostat.operators.sync.api.store import SECRET_STORE
from homeostat.operators.sync.api.webhook import REPOSITORY_WEBHOOK

KINDS: Final = (
    RESOURCE_REPOSITORY,
    MANAGED_SERVER,
    SECRET_STORE,
    SYNC_POLICY,
    REPOSITORY_WEBHOOK,
    SYNC_RECORD,
)
