"""Secrets are read where they are used, and do not come out again."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from homeostat.external.secrets.secrets import SecretError, SecretReference, Secrets, SecretText
from homeostat.external.secrets.stores import EnvironmentStore, FileStore

VALUE = "p@ss/word with+signs"


def secrets(tmp_path: Path) -> Secrets:
    environment = {"HOMEOSTAT_SECRET_DB": VALUE, "HOMEOSTAT_SECRET_EMPTY": "", "ADMIN_TOKEN": "not yours"}
    return Secrets({"env": EnvironmentStore(environment), "file": FileStore(tmp_path)})


async def test_a_reference_becomes_its_value(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    here = secrets(tmp_path)
    assert await here.reveal(SecretReference("DB", prefix="Bearer ")) == f"Bearer {VALUE}"
    assert await here.reveal(SecretReference("token", "file")) == "from-a-file"
    assert await here.reveal("plain") == "plain"


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param(SecretReference("NONE"), id="absent"),
        pytest.param(SecretReference("EMPTY"), id="empty"),
        pytest.param(SecretReference("ADMIN_TOKEN"), id="not-offered"),
        pytest.param(SecretReference("../outside", "file"), id="outside-the-directory"),
        pytest.param(SecretReference("/etc/passwd", "file"), id="absolute"),
        pytest.param(SecretReference("link", "file"), id="link-to-the-outside"),
        pytest.param(SecretReference("x", "nowhere"), id="unknown-store"),
    ],
)
async def test_an_unavailable_secret_is_named_by_its_reference(tmp_path: Path, reference: SecretReference) -> None:
    inside = tmp_path / "secrets"
    inside.mkdir()
    (tmp_path / "outside").write_text("secret")
    (inside / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(SecretError, match=f'"{reference.store if reference.store == "nowhere" else reference.key}"'):
        await secrets(inside).reveal(reference)


@pytest.mark.parametrize(
    "printed",
    [VALUE, quote(VALUE, safe=""), base64.b64encode(VALUE.encode()).decode(), f"x{VALUE}{VALUE}y"],
    ids=["plain", "quoted", "base64", "twice"],
)
async def test_what_was_handed_out_is_hidden_in_every_text(tmp_path: Path, printed: str) -> None:
    here = secrets(tmp_path)
    await here.reveal(SecretReference("DB"))
    hidden = here.scrub_json({"told": [f"the password is {printed}."], printed: 1})
    assert VALUE not in str(hidden)
    assert "***" in str(hidden)
    assert base64.b64encode(VALUE.encode()).decode().rstrip("=") not in str(hidden)


async def test_each_line_of_a_long_secret_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("-----BEGIN KEY-----\nfirst-line-of-the-key\nsecond-line-of-the-key\n")
    here = secrets(tmp_path)
    await here.reveal(SecretReference("key", "file"))
    assert here.scrub("error near second-line-of-the-key") == "error near ***"


def test_a_reference_is_distinguished_from_a_text_by_its_form() -> None:
    read = msgspec.convert({"a": "text", "b": {"key": "DB"}}, dict[str, SecretText])
    assert read == {"a": "text", "b": SecretReference("DB")}


@pytest.mark.parametrize("key", ["x" * 300, "a\0b", "binary"])
async def test_a_file_that_cannot_be_read_is_unavailable(tmp_path: Path, key: str) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(KeyError):
        await FileStore(tmp_path).get_secret(key)
