"""A directory, a home and a registry in which the real command runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from homeostat.cli.main import main
from homeostat.external.oci.auth import OneCredential
from homeostat.external.oci.bundle import pack_bundle
from homeostat.external.oci.manifest import Manifest
from homeostat.external.oci.push import push_blob, push_manifest
from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.external.secrets.docker_config import RegistryCredential
from homeostat.operators.contracts.engine.bundle.artifact import LAYER_TYPE
from tests.cli.running import HOMEOSTAT, Ended
from tests.external.oci.media_types import OCI_CONFIG
from tests.external.oci.signing import Key, Signed
from tests.external.registries import PASSWORD, USER

ANN = OneCredential(RegistryCredential(basic=BasicAuth(USER, PASSWORD)))


@dataclass
class Workspace:
    """`registry` is the address with a path of its own, so that tests share a server and no repository."""

    directory: Path
    home: Path
    registry: str
    environ: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        path = f"{self.directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "PWD": str(self.directory), **self.environ}

    def run(self, *arguments: str | Path, stdin: str = "", **environ: str) -> Ended:
        """In this process; the working directory must be this one."""
        assert Path.cwd() == self.directory
        hidden = {name: None for name in os.environ if name.startswith(("PACTO_", "XDG_", "DOCKER_", "NO_COLOR"))}
        environment = {**hidden, **self.environment(), **environ}
        done = CliRunner().invoke(main, ["contract", *map(str, arguments)], input=stdin, env=environment)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Ended(done.exit_code, done.stdout, done.stderr)

    def shell(self, *arguments: str | Path, stdin: str = "", **environ: str) -> Ended:
        """In a process of its own."""
        done = subprocess.run(
            [HOMEOSTAT, "contract", *map(str, arguments)],
            env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **self.environment(), **environ},
            cwd=self.directory,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    def write(self, files: Mapping[str, str], below: str = "") -> None:
        for name, text in files.items():
            path = self.directory / below / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if name.startswith("bin/"):
                path.chmod(0o755)

    def push(self, name: str, files: Mapping[str, str | bytes]) -> str:
        """Push files as another tool would, valid or not; returns the digest of the manifest."""
        data = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
        return self.push_layers(name, pack_bundle(data))

    def push_layers(self, name: str, *layers: bytes, layer_type: str = LAYER_TYPE) -> str:
        return asyncio.run(_push(f"{self.registry}/{name}", layers, layer_type))

    def manifest(self, name: str) -> tuple[Manifest, Mapping[str, str]]:
        """A manifest as any client reads it, and the labels of its config."""
        return asyncio.run(_manifest(f"{self.registry}/{name}"))

    def digest(self, name: str) -> str:
        return asyncio.run(_digest(f"{self.registry}/{name}"))

    def sign(self, name: str, digest: str, key: Key) -> None:
        asyncio.run(_sign(f"{self.registry}/{name}", digest, key))


async def _sign(name: str, digest: str, key: Key) -> None:
    async with RestClient() as client:
        await Signed(Registry(client), name, digest).tag(key)


async def _push(ref: str, layers: tuple[bytes, ...], layer_type: str) -> str:
    async with RestClient() as client:
        registry = Registry(client, keychain=ANN)
        config = await push_blob(registry, ref, b"{}", OCI_CONFIG)
        parts = [await push_blob(registry, ref, each, layer_type) for each in layers]
        return (await push_manifest(registry, ref, Manifest(config=config, layers=tuple(parts)))).digest


async def _manifest(ref: str) -> tuple[Manifest, Mapping[str, str]]:
    async with RestClient() as client:
        registry = Registry(client, keychain=ANN)
        found: Any = await registry.manifest(ref)
        return found, (await registry.config(ref, found)).labels


async def _digest(ref: str) -> str:
    async with RestClient() as client:
        return (await Registry(client, keychain=ANN).resolve(ref)).digest
