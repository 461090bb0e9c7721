"""Edits the files of a checkout, as CI does: the same engine as the operator's, without a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.image.preview import diffs
from homeostat.objects.views.image import InvalidImageError, check_image
from homeostat.operators.images.engine.manifest import Manifest, Target
from homeostat.operators.images.engine.places import ManifestError
from homeostat.operators.images.engine.reference import untagged

_LARGEST = 1 << 20
_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class Checkout:
    path: Path
    image: str
    tag: str
    files: tuple[str, ...]
    """Empty for all files of YAML that have the image."""
    value_path: str


def edit_checkout(checkout: Checkout, *, is_dry_run: bool) -> None:
    """Prints the difference, and writes the files unless it is a dry run. `Failure` if no file has the image."""
    if untagged(checkout.image) != checkout.image:
        raise click.UsageError(f"--image {checkout.image} has a tag or a digest; give the tag with --tag")
    try:
        check_image(f"{checkout.image}:{checkout.tag}")
    except InvalidImageError as error:
        raise click.UsageError(str(error)) from error
    target = Target(checkout.image, checkout.tag, value=checkout.value_path)
    before, after, found = dict[str, bytes](), dict[str, bytes](), 0
    for file in _files(checkout):
        name, data = file.relative_to(checkout.path).as_posix(), file.read_bytes()
        try:
            edited, (outcome,) = Manifest(data, name).set_tags([target])
            if isinstance(outcome, ManifestError):
                raise outcome
        except ManifestError as error:
            if checkout.files:
                raise Failure(str(error)) from error
            # Of all files, most are about something else.
            continue
        found += 1
        if edited != data:
            before[name], after[name] = data, edited
    if not found:
        raise Failure(f"no file of {checkout.path} has the image {checkout.image}; name one with --file")
    click.echo("".join(diffs(before, after)), nl=False)
    for name, data in after.items():
        if not is_dry_run:
            (checkout.path / name).write_bytes(data)
    verb = "would be changed" if is_dry_run else "changed"
    click.echo(f"{len(after)} of {found} files with the image {verb}", err=True)


def _files(checkout: Checkout) -> Iterator[Path]:
    root = checkout.path.resolve()
    if checkout.files:
        for each in checkout.files:
            file = checkout.path / each
            if not file.resolve().is_relative_to(root) or not file.is_file():
                raise Failure(f"{each} is not a file of {checkout.path}")
            yield file
        return
    for number, file in enumerate(sorted(checkout.path.rglob("*.y*ml"))):
        if number >= _MOST_FILES:
            raise Failure(f"{checkout.path} has more than {_MOST_FILES} files of YAML; name some with --file")
        is_own = ".git" not in file.relative_to(checkout.path).parts and not file.is_symlink()
        if is_own and file.is_file() and file.stat().st_size <= _LARGEST:
            yield file
