from __future__ import annotations

import pytest

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.tree.directory import directory_of


@pytest.mark.parametrize(
    ("files", "links"),
    [(["c/�", "c/�/resource.json"], []), (["c/�/resource.json", "c/�"], []), (["c/x"], ["c/x"])],
    ids=["file-first", "directory-first", "link"],
)
def test_names_that_are_the_same_in_utf8_are_refused(files: list[str], links: list[str]) -> None:
    with pytest.raises(ValidationError, match="two files or directories have the name"):
        directory_of(dict.fromkeys(files, b"{}"), links)
