"""`homeostat sync resource save`: objects of the server, or input, into the repository."""

from __future__ import annotations

from dataclasses import replace

import click

from homeostat.cli.sync.console.flags import ALLOW_PLAINTEXT, EXCLUDE, MESSAGE, PAYLOAD, PRUNE_DEFAULTS, PUSH
from homeostat.cli.sync.console.payloads import read_input
from homeostat.cli.sync.console.run import Run, chosen_text, path_arguments, sync_command
from homeostat.cli.sync.console.scope import excluded, given_path
from homeostat.cli.sync.repository.commits import check_push, commit_files, commit_message
from homeostat.operators.sync.engine.errors import NotFoundError, ValidationError
from homeostat.operators.sync.engine.lists.items import identified, items_of
from homeostat.operators.sync.engine.paths.logical import Target, parse
from homeostat.operators.sync.engine.paths.selector import is_wild, parse_selector
from homeostat.operators.sync.engine.payload.codec import Payload
from homeostat.operators.sync.engine.payload.format import by_word
from homeostat.operators.sync.session.remote import find, list_items, payload_of
from homeostat.operators.sync.session.save import SaveOptions, save
from homeostat.operators.sync.session.session import Session

_ALL = "*"


class _Save(click.Command):
    """`--secret-attributes` may stand without a value, which then means all that are detected."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f"{each}={_ALL}" if each == "--secret-attributes" else each for each in args])


@click.command("save", cls=_Save, short_help="Save objects of the server, or input, into the repository.")
@path_arguments
@PAYLOAD
@click.option("--content-type", default="", help="The format of the payload and of the file.")
@click.option("--mode", type=click.Choice(["auto", "items", "single"]), default="auto", help="How to save a list.")
@EXCLUDE
@click.option("--secret", is_flag=True, help="Store the whole payload as a secret.")
@ALLOW_PLAINTEXT
@click.option(
    "--secret-attributes", default=None, help="Store these attributes as secrets; without a value, all detected."
)
@PRUNE_DEFAULTS
@click.option("--force", is_flag=True, help="Replace resources that exist.")
@PUSH
@MESSAGE
@sync_command(changes=True)
async def command(
    run: Run,
    path: str | None,
    path_option: str | None,
    payload: str | None,
    content_type: str,
    mode: str,
    exclude: str | None,
    secret: bool,
    allow_plaintext: bool,
    secret_attributes: str | None,
    prune_defaults: bool,
    force: bool,
    push: bool,
    message: str,
) -> None:
    """Save one object, or each of a collection. `_` in a path stands for every name.

    What looks like a plain secret is refused, unless it is stored with --secret-attributes or allowed.

    \b
    Examples:
      homeostat sync resource save /customers/acme
      homeostat sync resource save /customers/ --exclude test
      homeostat sync resource save /customers/acme -f acme.json --secret-attributes
    """
    text = chosen_text(path, path_option)
    is_pattern = any(is_wild(each) for each in text.split("/"))
    if is_pattern and payload is not None:
        raise ValidationError(f'-f saves one payload; the path "{text}" has a wildcard, which reads from the server')
    options = SaveOptions(
        force=force,
        allow_plaintext=allow_plaintext,
        prune_defaults=prune_defaults,
        is_secret=secret,
        secret_attributes=_pointers(secret_attributes),
        form=by_word(content_type) if content_type else None,
    )
    given = await read_input(payload, content_type) if payload is not None else None
    async with run.session("/" if is_pattern else parse(text).path, is_recursive=is_pattern) as session:
        check_push(session, pushes=push)
        if is_pattern:
            found = await _matching(session, text)
        elif given is not None:
            found = _given(session, parse(text), given, mode)
        else:
            found = await _remote(session, parse(text), mode)
        if not is_pattern and found and found[0][0] != parse(text).path:
            options = replace(options, collection=parse(text).path)
        left_out = excluded(exclude)
        kept = [(where, each) for where, each in found if where.rpartition("/")[2] not in left_out]
        names = await save(session, kept, options)
        shared = [each for each in names if options.collection and each.startswith(f"{options.collection[1:]}/_/")]
        for where, _ in kept:
            own = [*shared, *(each for each in names if each.startswith(f"{where[1:]}/"))]
            await commit_files(session, _message(where, message), own, pushes=push)


def _message(path: str, message: str) -> str:
    return commit_message(f"declarest: save resource {path}", message)


def _pointers(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return () if text in ("", _ALL) else tuple(each.strip() for each in text.split(",") if each.strip())


async def _remote(session: Session, target: Target, mode: str) -> list[tuple[str, Payload]]:
    if target.is_collection and mode != "single":
        return [(each.path, Payload(each.value)) for each in await list_items(session, target.path)]
    found = await find(session, target.path)
    return _given(session, target, payload_of(found), mode, is_checked=False)


def _given(
    session: Session, target: Target, payload: Payload, mode: str, *, is_checked: bool = True
) -> list[tuple[str, Payload]]:
    """A list becomes one file for each of its items, unless one file is wanted."""
    if mode == "items" or (mode == "auto" and isinstance(payload.value, list)):
        rules = session.metadata.rules(target.path, is_collection=True)
        items = identified(target.path, items_of(payload.value), rules)
        return [(each.path, Payload(each.value, payload.form)) for each in items]
    return [(given_path(session, target, payload) if is_checked else target.path, payload)]


async def _matching(session: Session, text: str) -> list[tuple[str, Payload]]:
    """All objects that a path with `_` stands for, found by listing the collections on the way."""
    selector = parse_selector(text if not text.rstrip("/").endswith("/_") else f"{text.rstrip('/')}/x")
    paths = [""]
    for segment in selector.segments[:-1] if text.rstrip("/").endswith("/_") else selector.segments:
        if is_wild(segment):
            paths = [item.path for each in paths for item in await list_items(session, each or "/")]
        else:
            paths = [f"{each}/{segment}" for each in paths]
    found = list[tuple[str, Payload]]()
    for each in paths:
        try:
            found.append((each, payload_of(await find(session, each))))
        except NotFoundError:
            # It is gone, or this one has nothing of the name.
            continue
    if not found:
        raise NotFoundError(f'no object of the server matches the path "{text}"')
    return found
