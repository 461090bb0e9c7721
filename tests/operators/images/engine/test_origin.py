"""URLs of repositories, whoever wrote them."""

from __future__ import annotations

import pytest

from homeostat.operators.images.engine import origin
from homeostat.operators.images.engine.origin import origin_of


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("git@github.com:acme/shop.git", ("github.com", "acme/shop")),
        ("https://user:secret@GitHub.com/acme/shop/", ("github.com", "acme/shop")),
        ("https://[broken", ("", "")),
        (f"https://github.com/{'a' * 5000}.git", ("github.com", "a" * 5000)),
    ],
    ids=["scp", "https", "invalid", "long"],
)
def test_an_origin_is_a_host_and_a_path(url: str, expected: tuple[str, str]) -> None:
    assert origin_of(url) == expected


def test_long_urls_are_not_kept() -> None:
    origin._kept.cache_clear()
    for length in (10, 100_000):
        origin_of(f"https://github.com/{'a' * length}")
    assert origin._kept.cache_info().currsize == 1
