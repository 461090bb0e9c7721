"""References are taken apart as Docker does, and those that no registry accepts are refused."""

from __future__ import annotations

import pytest

from homeostat.objects.views import image as module
from homeostat.objects.views.image import InvalidImageError, check_image, parse_image

DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("reference", "registry", "path", "tag", "digest"),
    [
        ("nginx", "docker.io", "library/nginx", "", ""),
        ("docker.io/nginx:1", "docker.io", "library/nginx", "1", ""),
        ("index.docker.io/acme/web", "docker.io", "acme/web", "", ""),
        ("acme/web:1.2", "docker.io", "acme/web", "1.2", ""),
        ("localhost:5000/web", "localhost:5000", "web", "", ""),
        ("localhost/web:2", "localhost", "web", "2", ""),
        (f"ghcr.io/a/b__c/d-e:v1@{DIGEST}", "ghcr.io", "a/b__c/d-e", "v1", DIGEST),
        (f"r:1/x@sha512:{'b' * 128}", "r:1", "x", "", f"sha512:{'b' * 128}"),
        ("[::1]:5000/x:y", "[::1]:5000", "x", "y", ""),
        ("Host.Example/x", "Host.Example", "x", "", ""),
    ],
)
def test_a_reference_has_parts(reference: str, registry: str, path: str, tag: str, digest: str) -> None:
    image = check_image(reference)
    assert (image.registry, image.path, image.tag, image.digest) == (registry, path, tag, digest)
    assert parse_image(str(image)) == image


def test_long_references_are_split_and_not_kept() -> None:
    module._kept.cache_clear()
    assert [parse_image(f"r.io/{'x' * size}:1").tag for size in (10, 1_000_000)] == ["1", "1"]
    assert module._kept.cache_info().currsize == 1


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "Web",
        "a b",
        "ghcr.io/",
        "ghcr.io//x",
        "ghcr.io/x:",
        "ghcr.io/x@",
        "ghcr.io/x:a b",
        f"ghcr.io/x:{'a' * 129}",
        "ghcr.io/x@sha256:abc",
        f"ghcr.io/x@sha256:{'A' * 64}",
        f"ghcr.io/x@md5:{'a' * 32}",
        "ghcr.io/../x",
        "ghcr.io/x-",
        "ghcr.io/x/",
        "ghcr.io:port/x",
        "-host.io/x",
        "https://ghcr.io/x",
        f"ghcr.io/{'a' * 250}",
        "ghcr.io/x\n",
    ],
)
def test_what_is_no_reference_is_refused(reference: str) -> None:
    with pytest.raises(InvalidImageError):
        check_image(reference)
