"""The session of docs/contracts.md prints what it shows, with a real registry, and its limits are those of the code."""

from __future__ import annotations

import asyncio
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest

from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.operators.contracts.engine import files
from homeostat.operators.contracts.engine.checks.verdict import RUNTIME_OBSERVED, SEVERITIES
from homeostat.operators.contracts.engine.document.parse import MAX_CONTRACT_BYTES
from homeostat.operators.contracts.engine.graph.graph import MAX_EDGES
from homeostat.operators.contracts.engine.policy import MAX_POLICIES
from homeostat.operators.contracts.sources.cache import LIMIT_BYTES
from homeostat.operators.contracts.sources.registry import LIMITS
from tests.cli.running import make_cli, running
from tests.docs.documents import table_rows, text_of
from tests.external.oci.signing import Key, Signed, public_pem, signing_key
from tests.external.registries import running_registry
from tests.processes import path_for_shells
from tools.build_kubectl import find_kubectl

_PAGE = text_of("docs/contracts.md")
_REGISTRY = "registry.example.org"
_fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL).findall
_UNITS = {"": 1, "MiB": 1 << 20}


@pytest.mark.kubectl
def test_the_session_prints_what_it_shows(tmp_path: Path) -> None:
    session, _, rest = _PAGE.partition("## Credentials")
    cli = make_cli(tmp_path / "data")
    path = f"{find_kubectl().parent}:{path_for_shells()}"
    environment = {**cli.environment, "PATH": path, "KUBECONFIG": str(tmp_path / "data" / "kubeconfig")}
    with running_registry(tmp_path / "registry") as host, running(cli, "--operators", "contracts"):

        def follow(section: str) -> int:
            shown = 0
            for (language, code), (following, printed) in pairwise([*_fences(section), ("", "")]):
                if language != "sh":
                    continue
                command = ["bash", "-e", "-c", code.replace(_REGISTRY, host)]
                done = subprocess.run(
                    command, cwd=tmp_path, env=environment, stdout=PIPE, stderr=STDOUT, text=True, timeout=50
                )
                assert done.returncode == 0, (code, done.stdout)
                if following == "text":
                    shown += 1
                    assert _plain(done.stdout).endswith(_plain(printed.replace(_REGISTRY, host))), code
            return shown

        assert follow(session) == 14
        key = signing_key()
        (tmp_path / "cosign.pub").write_bytes(public_pem(key))
        unsigned = cli(
            "contract", "validate", f"oci://{host}/contracts/billing", "--verify-key", tmp_path / "cosign.pub"
        )
        assert (unsigned.code, "SIGNATURE_INVALID" in unsigned.err) == (1, True)
        asyncio.run(_sign(f"{host}/contracts/billing", key))
        follow(rest.partition("## Signatures")[2].partition("## Limits")[0])
        verified = cli("wait", "pacto/billing", "--for=condition=SignatureVerified")
        assert verified.code == 0, verified.err


async def _sign(name: str, key: Key) -> None:
    """As `cosign sign --key` does."""
    async with RestClient() as client:
        registry = Registry(client)
        image = await registry.resolve(f"{name}:0.1.0")
        await Signed(registry, name, image.digest).tag(key)


def _plain(text: str) -> str:
    """Without ages and widths of columns."""
    return re.sub(r" +", " ", re.sub(r"\b\d+s\b", "1s", text))


def test_the_table_of_checks_is_the_one_of_the_code() -> None:
    rows = table_rows(_PAGE, "| check | compares | severity |")
    found = {check: severity for checks, _, severity in rows for check in checks.split(", ")}
    assert found == {check: each for check, each in SEVERITIES.items() if check != RUNTIME_OBSERVED}


def test_the_limits_are_those_of_the_code() -> None:
    found = [_number(value) for _, value in table_rows(_PAGE, "| limit | value |")]
    assert found == [
        files.MAX_FILE_BYTES,
        files.MAX_TOTAL_BYTES,
        files.MAX_ENTRIES,
        MAX_CONTRACT_BYTES,
        LIMITS.tags,
        MAX_POLICIES,
        MAX_EDGES,
        LIMIT_BYTES,
    ]


def _number(value: str) -> int:
    number, _, unit = value.partition(" ")
    return int(number.replace(",", "")) * _UNITS[unit]
