"""The running plane: its settings, parts and addresses."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from homeostat.client.base import Client
from homeostat.client.in_process import InProcess
from homeostat.edge.server import Server
from homeostat.plane.private_secrets import StoreSecrets
from homeostat.plane.settings import Settings
from homeostat.plane.sign_in import OneTimeCode
from homeostat.plane.storage import PlaneStore
from homeostat.plane.token_tracking import TokenTracking
from homeostat.runtime.faces.hosting import ServedFace
from homeostat.runtime.supervisor import Supervisor
from homeostat.server.access.tokens.file import Tokens
from homeostat.server.access.tokens.service_account import AccountTokens
from homeostat.server.access.user import SELF
from homeostat.server.admission.chain import AdmissionChain
from homeostat.server.app import App
from homeostat.server.conversion.conversions import Conversions
from homeostat.server.verbs.watch import Watches


class Plane:
    """A running plane. Its `client` has all permissions."""

    def __init__(
        self,
        settings: Settings,
        store: PlaneStore,
        app: App,
        watches: Watches,
        admission: AdmissionChain,
        conversions: Conversions,
        accounts: AccountTokens,
        supervisors: list[Supervisor],
        tracking: TokenTracking,
        server: Server,
    ) -> None:
        self.settings = settings
        self.store = store
        self.app = app
        self.watches = watches
        self.admission = admission
        self.conversions = conversions
        self.accounts = accounts
        self.supervisors = supervisors
        self.tracking = tracking
        self.server = server
        self.elections: dict[str, Callable[[], bool]] = {}
        """Whether this replica leads the plane's own work, by lease."""
        self.client = Client(
            InProcess(app.handle, {"user": SELF}), bearing=lambda token: InProcess(app.handle, {}, token=token)
        )
        self.faces: list[ServedFace] = []
        """Those that are being served."""

    @property
    def are_effects_paused(self) -> bool:
        """Whether operators neither observe nor act, because the store was restored from a backup."""
        return self.store.is_restored

    @cached_property
    def sign_in(self) -> OneTimeCode:
        """For the first login at a face."""
        return OneTimeCode(Tokens(self.settings.data / "tokens.json"))

    @cached_property
    def private(self) -> StoreSecrets:
        """Secrets of the faces."""
        return StoreSecrets(self.store, self.settings.data / "seal.key")

    @property
    def url(self) -> str:
        if self.settings.address:
            return self.settings.address
        return self._url(self.server.port or self.settings.port)

    def _url(self, port: int) -> str:
        scheme = "http" if self.settings.is_open else "https"
        host = f"[{self.settings.bind}]" if ":" in self.settings.bind else self.settings.bind
        host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104
        return f"{scheme}://{host}:{port}"

    @property
    def kubeconfig_path(self) -> Path:
        return self.settings.data / "kubeconfig"
