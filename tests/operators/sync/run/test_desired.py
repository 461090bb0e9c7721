"""What becomes known to the scrubber when a resource is declared as secret as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from homeostat.external.secrets.scrub import MOST_PARTS
from homeostat.operators.sync.session.desired import desired
from homeostat.operators.sync.stores.envelope import Lock
from homeostat.operators.sync.stores.file import FileStore
from tests.operators.sync.run.syncing import Policy


@pytest.mark.parametrize("is_text", [False, True])
async def test_the_values_of_a_secret_resource_are_hidden_and_common_words_are_not(
    tmp_path: Path, is_text: bool
) -> None:
    store = FileStore(tmp_path / "secrets.json", Lock(key=bytes(32)))
    many = {f"k{each}": f"value-{each:06}" for each in range(4 * MOST_PARTS)}
    document = {"state": "enabled", "password": "a-password-that-is-long", **many}
    await store.put({"t/a:.": "s3cret" if is_text else json.dumps(document, indent=1)})
    name = "t/a/resource.txt" if is_text else "t/a/resource.json"
    session = Policy("http://127.0.0.1:1", store=store).session({name: b"{{secret .}}"})
    await desired(session, "/t/a")
    printed = session.scrubber.scrub("not enabled: s3cret a-password-that-is-long")
    assert printed == f"not enabled: {'*** a-password-that-is-long' if is_text else 's3cret ***'}"
    assert len(session.scrubber._longest_first.values) < 20 * MOST_PARTS
