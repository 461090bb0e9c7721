from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import pytest

from homeostat.server.access.tokens.file import TokenFileError, Tokens
from homeostat.server.access.user import AUTHENTICATED, User

NOW = 1_900_000_000.5
NEVER = float("inf")


def test_a_token_is_good_for_the_user_it_was_made_for(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    text = tokens.create("alice", now=NOW, groups=["devs"], description="laptop")
    assert tokens.find(text, now=NOW) == (User("alice", groups=("devs", AUTHENTICATED)), NEVER)


def test_the_text_is_not_in_the_file_and_the_file_is_private(tmp_path: Path) -> None:
    text = Tokens(tmp_path / "d" / "tokens.json").create("alice", now=NOW)
    kept = (tmp_path / "d" / "tokens.json").read_text()
    assert text.split("-")[1] in kept
    assert text.split("-")[2] not in kept
    assert (tmp_path / "d" / "tokens.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o700


WRONG = {
    "another secret": lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
    "another id": lambda text: "hst-0000000000-" + text.rpartition("-")[2],
    "another prefix": lambda text: text.replace("hst", "xyz"),
    "no secret": lambda text: text.rpartition("-")[0] + "-",
    "the secret only": lambda text: text.rpartition("-")[2],
    "the hash": lambda text: text.rpartition("-")[0] + "-" + "0" * 64,
    "letters beyond ASCII": lambda text: text + "é",
    "nothing": lambda _: "",
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_any_other_text_is_nobodys(tmp_path: Path, change: object) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    text = tokens.create("alice", now=NOW)
    assert callable(change)
    assert tokens.find(change(text), now=NOW) is None


def test_a_token_expires(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    text = tokens.create("alice", now=NOW, life_s=60)
    found = tokens.find(text, now=NOW + 59)
    assert found is not None
    assert found[1] == int(NOW) + 60
    assert tokens.find(text, now=NOW + 60) is None


def test_what_a_command_changes_the_running_plane_sees(tmp_path: Path) -> None:
    plane, command = Tokens(tmp_path / "tokens.json"), Tokens(tmp_path / "tokens.json")
    assert plane.find("hst-1-2", now=NOW) is None
    text = command.create("alice", now=NOW)
    assert plane.find(text, now=NOW) is not None
    assert command.revoke(text.split("-")[1])
    assert plane.find(text, now=NOW) is None
    assert not command.revoke("nothing")


def test_tokens_are_listed_oldest_first(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    for user, when in (("bob", 2), ("alice", 1)):
        tokens.create(user, now=NOW + when)
    assert [token.user for token in tokens.list()] == ["alice", "bob"]


def test_tokens_made_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    def make() -> None:
        Tokens(tmp_path / "tokens.json").create("alice", now=NOW)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Tokens(tmp_path / "tokens.json").list()) == 8


def test_while_the_file_makes_no_sense_no_token_is_good_and_none_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens.json"
    tokens = Tokens(path)
    text = tokens.create("alice", now=NOW)
    good = path.read_bytes()
    path.write_bytes(b'[{"id": 1}]')
    with caplog.at_level(logging.ERROR):
        assert [tokens.find(text, now=NOW) for _ in range(3)] == [None, None, None]
    assert [record.message for record in caplog.records] == ["refusing bearer tokens: token file is invalid"]
    with pytest.raises(TokenFileError, match=r"tokens\.json is not a valid token file"):
        Tokens(path).create("bob", now=NOW)
    assert path.read_bytes() == b'[{"id": 1}]'
    path.write_bytes(good)
    os.utime(path, (1, 1))
    assert tokens.find(text, now=NOW) is not None
