"""`homeostat sync resource defaults infer`: defaults from what the resources of a collection share."""

from __future__ import annotations

import asyncio
import secrets

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.console.scope import excluded
from homeostat.cli.sync.repository.commits import commit_files
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.time.duration import DurationError, parse_seconds
from homeostat.operators.sync.engine.errors import NotFoundError, SyncError, TransportError, ValidationError
from homeostat.operators.sync.engine.metadata.defaults import added, infer
from homeostat.operators.sync.engine.paths.logical import Target, join, name, segments
from homeostat.operators.sync.engine.paths.selector import Selector
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.codec import Payload, encode
from homeostat.operators.sync.engine.payload.format import JSON, YAML, Descriptor
from homeostat.operators.sync.engine.payload.value import is_same
from homeostat.operators.sync.engine.tree.listing import children, read_payload
from homeostat.operators.sync.session.desired import desired
from homeostat.operators.sync.session.remote import Remote, find
from homeostat.operators.sync.session.save import metadata_files
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.session.write import create, delete


@click.command("infer", short_help="Infer defaults from what resources share.")
@path_arguments
@click.option("--save", "saves", is_flag=True, help="Write the result into the repository, and print nothing.")
@click.option("--check", "checks", is_flag=True, help="Fail if the result differs from the stored defaults.")
@click.option("--from", "source", type=click.Choice(["repository", "managed-service"]), default="repository")
@click.option("--items", default=None, help="Only these resources, with commas.")
@click.option("--wait", default="2s", help="How long to wait before probes are read.")
@click.option("-y", "--yes", is_flag=True, help="Confirm that probes are created and deleted on the server.")
@sync_command()
async def command(
    run: Run,
    path: str | None,
    path_option: str | None,
    saves: bool,
    checks: bool,
    source: str,
    items: str | None,
    wait: str,
    yes: bool,
) -> None:
    """Keep what all resources of a collection have in common; or create two probes and keep what the server added.

    \b
    Examples:
      homeostat sync resource defaults infer /customers/
      homeostat sync resource defaults infer /customers/ --from managed-service --yes
    """
    target = chosen_target(path, path_option)
    async with run.session(target.path) as session:
        samples = _samples(session, target, excluded(items))
        if source == "managed-service":
            if not yes:
                raise ValidationError("--from managed-service creates and deletes probes on the server; pass --yes")
            found = await _probed(session, target, samples, _seconds(wait))
        else:
            if not samples:
                raise NotFoundError(f"no local resources found under {target.path}")
            found = infer([each.value for each in samples])
        rules = session.metadata.rules(target.path, is_collection=True)
        if saves:
            await _save(session, target, found, samples[0].form if samples else JSON)
            return
        print_value(run, found)
        if checks and not is_same(found, rules.defaults or {}):
            raise ValidationError(f"the inferred defaults of {target.path} differ from the stored ones")


def _seconds(text: str) -> float:
    try:
        return min(parse_seconds(text), 600.0)
    except DurationError as error:
        raise ValidationError(f"--wait: {error}") from error


def _samples(session: Session, target: Target, wanted: set[str]) -> list[Payload]:
    found = list[Payload]()
    there = children(session.root, target.path)
    if unknown := wanted - {name(each) for each in there}:
        raise NotFoundError(f"{target.path} has no local resource {', '.join(sorted(unknown))}; check --items")
    for each in there:
        directory = session.root.at(segments(each))
        payload = read_payload(directory, each) if directory is not None else None
        if payload is not None and isinstance(payload.value, dict) and (not wanted or name(each) in wanted):
            found.append(payload)
    return found


async def _save(session: Session, target: Target, found: JsonObject, form: Descriptor) -> None:
    file = f"defaults{form.extension if form.type in ('json', 'yaml', 'properties') else YAML.extension}"
    selector = Selector(tuple(segments(target.path)), True)
    addition = {"resource": {"defaults": {"value": f"{{{{include {file}}}}}"}}}
    files = {f"{selector.directory}/{file}": encode(found, form), **metadata_files(session, selector, addition)}
    await session.files.write(files)
    await commit_files(session, f"declarest: save defaults {target.path}", list(files))


async def _probed(session: Session, target: Target, samples: list[Payload], wait_s: float) -> JsonObject:
    """What the server gives to objects that were created with nothing but their identity."""
    if not samples:
        raise NotFoundError(f"no local resources found under {target.path}; one is needed as a pattern for the probes")
    sent, results, made = list[Json](), list[Json](), list[tuple[str, Remote]]()
    try:
        for number in (1, 2):
            probe = join(target.path, f"declarest-defaults-probe-{number}-{secrets.token_hex(4)}")
            value = _probe(session, probe, samples[0].value)
            written = await create(session, await desired(session, probe, Payload(value)))
            made.append((probe, Remote(id=written.remote_id, alias=name(probe))))
            sent.append(value)
        await asyncio.sleep(wait_s)
        results += [(await find(session, probe)).value for probe, _ in made]
    finally:
        await _remove(session, made)
    return added(results, sent)


async def _remove(session: Session, made: list[tuple[str, Remote]]) -> None:
    """All of them, whatever fails for one."""
    left = list[str]()
    for probe, remote in made:
        try:
            await delete(session, probe, remote)
        except SyncError as error:
            left.append(f"{probe} ({error})")
    if left:
        raise TransportError(f"probes are left on the server, delete them: {', '.join(left)}")


def _probe(session: Session, path: str, pattern: Json) -> Json:
    rules = session.metadata.rules(path)
    value: Json = {}
    for each in dict.fromkeys((*rules.id.pointers, *rules.alias.pointers)):
        value = pointer.put(value, each, name(path))
    for each in rules.required:
        found = pointer.get(pattern, each)
        if found is not pointer.MISSING and pointer.get(value, each) is pointer.MISSING:
            value = pointer.put(value, each, found)
    return value
