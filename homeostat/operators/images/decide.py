"""Decides what a pass does for each Deployment of a repository: write a tag, wait, pin, or report why not. Pure.

`survey` compares the files with the tags that are due. Only for Deployments that it finds `Due` the registry is asked
about the image, and `decide` turns the answers into a plan. Promises, each tested: the same world gives the same
plan; once all updates of a plan are written, the next survey finds nothing due; a problem is never `up_to_date`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from homeostat.objects.time.age import epoch_of
from homeostat.objects.time.timestamp import format_time
from homeostat.objects.time.window import frozen_until
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.build import Build
from homeostat.operators.images.engine.entry import Entry, failed, skipped, up_to_date
from homeostat.operators.images.engine.manifest import Change, Manifest, Target
from homeostat.operators.images.engine.path import check_path
from homeostat.operators.images.engine.pin import is_set_by_hand
from homeostat.operators.images.engine.places import ManifestError
from homeostat.operators.images.engine.rules import Rules
from homeostat.operators.images.world import (
    Absent,
    ImageState,
    Present,
    Problem,
    Record,
    Subject,
    Unchecked,
    Wanted,
    World,
)

_SOONEST_S: Final = 1.0
BUILD_DELAYS_S: Final = (10.0, 20.0, 40.0, 60.0)
"""Between two questions about a build that is under way; the last one repeats."""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """There is nothing to write. `tag` is what the file has, if that is known."""

    tracked: Tracked
    entry: Entry
    reason: str
    tag: str = ""
    wanted: str = ""
    pin: str | None = None
    """A tag to pin from now on."""
    retry_s: float | None = None
    since: str = ""
    note: str = ""
    """A notification; empty for none."""
    commit: str = ""
    """The application's commit whose image the file has, where that is known."""


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """Another tag is due than the file has."""

    tracked: Tracked
    rules: Rules
    path: str
    target: Target
    commit: str
    seen: tuple[str, ...]
    """The tags that the file had."""
    changes: tuple[Change, ...]
    check: str = ""
    """What is known of the image, where it was not checked."""
    since: str = ""

    @property
    def image(self) -> str:
        return f"{self.target.image}:{self.target.tag}"

    @property
    def old(self) -> str:
        return self.changes[0].old


Verdict = Settled | Due


class Plan(msgspec.Struct, frozen=True):
    settled: tuple[Settled, ...]
    updates: tuple[Due, ...]


def survey(world: World) -> tuple[Verdict, ...]:
    """In the order of the subjects."""
    by_path: dict[str, list[int]] = {}
    found: dict[int, Verdict] = {}
    for number, subject in enumerate(world.subjects):
        problem = _problem(world, subject)
        if isinstance(problem, str):
            by_path.setdefault(problem, []).append(number)
        else:
            found[number] = problem
    for path, numbers in by_path.items():
        some = [world.subjects[each] for each in numbers]
        found |= dict(zip(numbers, _survey_file(world, path, some), strict=True))
    return tuple(found[number] for number in range(len(world.subjects)))


def decide(verdicts: Iterable[Verdict], images: Mapping[str, ImageState], waits: Mapping[str, int]) -> Plan:
    """By `NAMESPACE/NAME`, `images` has the state of the image of each Deployment that is due, and `waits` how often it
    has waited for its build.
    """
    settled, updates = list[Settled](), list[Due]()
    for verdict in verdicts:
        if isinstance(verdict, Due):
            verdict = _checked(verdict, images[verdict.tracked.key], waits.get(verdict.tracked.key, 0))  # noqa: PLW2901
        if isinstance(verdict, Due):
            updates.append(verdict)
        else:
            settled.append(verdict)
    return Plan(tuple(settled), tuple(updates))


def _problem(world: World, subject: Subject) -> Settled | str:
    """The path of the file, or why it cannot be read."""
    for found in (subject.rules, subject.wanted):
        if isinstance(found, Problem):
            return _failed(subject.tracked, found)
    if not subject.tracked.settings.image_name.strip():
        return _failed(
            subject.tracked, Problem("gitops.operator.image_name is empty; name an image", "InvalidAnnotation")
        )
    try:
        path = check_path(subject.tracked.settings.deployment_path)
    except ManifestError as error:
        return _failed(subject.tracked, Problem(str(error), "InvalidPath"))
    if world.manifests is not None:
        return _failed(subject.tracked, world.manifests)
    data = world.files.get(path, Problem(f"{path} was not read"))
    return _failed(subject.tracked, data) if isinstance(data, Problem) else path


def _survey_file(world: World, path: str, subjects: list[Subject]) -> list[Verdict]:
    data = world.files[path]
    assert isinstance(data, bytes)
    try:
        manifest = Manifest(data, path)
    except ManifestError as error:
        return [_failed(each.tracked, Problem(str(error), "InvalidManifest")) for each in subjects]
    targets = [_target(each) for each in subjects]
    outcomes = manifest.set_tags(targets).outcomes
    found = list[Verdict]()
    for subject, target, outcome in zip(subjects, targets, outcomes, strict=True):
        if isinstance(outcome, ManifestError):
            found.append(_failed(subject.tracked, Problem(str(outcome), "InvalidManifest")))
        else:
            found.append(_compared(world, subject, path, target, manifest.tags(target), outcome))
    return found


def _target(subject: Subject) -> Target:
    assert isinstance(subject.wanted, Wanted)
    assert isinstance(subject.rules, Rules)
    tracked = subject.tracked
    return Target(
        tracked.settings.image, subject.wanted.tag, tracked.name, subject.rules.value_path, subject.wanted.digest
    )


def _compared(
    world: World, subject: Subject, path: str, target: Target, seen: tuple[str, ...], changes: tuple[Change, ...]
) -> Verdict:
    tracked, record, rules, wanted = subject.tracked, subject.record, subject.rules, subject.wanted
    assert isinstance(rules, Rules)
    assert isinstance(wanted, Wanted)
    current = next((each for each in seen if each != target.tag), target.tag)
    if record.pin is not None:
        entry = skipped(tracked, pinned_text(tracked, current, record))
        return Settled(tracked=tracked, entry=entry, reason="Pinned", tag=current, wanted=target.tag)
    if not changes:
        entry = up_to_date(tracked, new=target.tag)
        return Settled(
            tracked=tracked, entry=entry, reason="UpToDate", tag=target.tag, wanted=target.tag, commit=wanted.commit
        )
    if is_set_by_hand(seen, known=(record.tag, record.attempt, *record.proposed), wanted=target.tag):
        entry = skipped(tracked, pinned_text(tracked, current, record))
        return Settled(tracked=tracked, entry=entry, reason="Pinned", tag=current, pin=current, wanted=target.tag)
    since = record.since if record.candidate == target.tag and record.since else format_time(world.now)
    held = _held(tracked, rules, since, world.now)
    if held is not None:
        reason, text, retry_s = held
        entry = skipped(tracked, text)
        return Settled(
            tracked=tracked, entry=entry, reason=reason, tag=current, wanted=target.tag, retry_s=retry_s, since=since
        )
    return Due(
        tracked=tracked,
        rules=rules,
        path=path,
        target=target,
        commit=wanted.commit,
        seen=seen,
        changes=changes,
        since=since,
    )


def _held(tracked: Tracked, rules: Rules, since: str, now: datetime) -> tuple[str, str, float] | None:
    """Why a change has to wait: reason, text and seconds."""
    until = frozen_until(rules.freeze, now)
    if until is not None:
        text = f"{tracked.title} is frozen until {format_time(until)} (gitops.operator.freeze)"
        return "Frozen", text, _seconds(until - now)
    known_s = epoch_of(since)
    left_s = rules.minimum_age_s - (now.timestamp() - (now.timestamp() if known_s is None else known_s))
    if left_s > 0:
        when = format_time(now + timedelta(seconds=left_s))
        text = f"waiting until {when} before {tracked.title} is updated (gitops.operator.minimum_age)"
        return "TooYoung", text, max(left_s, _SOONEST_S)
    return None


def _seconds(wait: timedelta) -> float:
    return max(wait.total_seconds(), _SOONEST_S)


def _checked(due: Due, state: ImageState, waits: int) -> Verdict:
    match state:
        case Present(digest) if due.rules.pins_digest:
            return msgspec.structs.replace(due, target=due.target._replace(digest=digest))
        case Present():
            return due
        case Unchecked(why) if not due.rules.pins_digest:
            return msgspec.structs.replace(due, check=why or "not checked")
        case Unchecked(why):
            return _stopped(due, f"cannot read the digest of {due.image}: {why}", "ImageUnchecked")
        case Absent(build) if build is not None and build.is_pending:
            delay_s = BUILD_DELAYS_S[min(waits, len(BUILD_DELAYS_S) - 1)]
            text = f"waiting for the build of {due.image}, which is {build.value}; checked again in {delay_s:g} s"
            note = f":hourglass: build of {due.image} is {build.value}"
            return _stopped(due, text, "Building", retry_s=delay_s, note=note, is_failure=False)
        case Absent(Build.FAILED):
            text = f"the build of {due.image} failed; fix it and push again"
            return _stopped(due, text, "BuildFailed", note=f":x: {text}")
        case Absent():
            text = f"image {due.image} not found in the registry"
            return _stopped(due, text, "ImageNotFound", note=f":x: {text}")
        case Problem(text, reason, retry_s):
            return _stopped(due, text, reason, retry_s=retry_s)


def _stopped(
    due: Due, text: str, reason: str, *, retry_s: float | None = None, note: str = "", is_failure: bool = True
) -> Settled:
    entry = failed(due.tracked, text) if is_failure else skipped(due.tracked, text)
    return Settled(
        tracked=due.tracked,
        entry=entry,
        reason=reason,
        tag=due.old,
        wanted=due.target.tag,
        retry_s=retry_s,
        since=due.since,
        note=note,
    )


def _failed(tracked: Tracked, problem: Problem) -> Settled:
    return Settled(tracked=tracked, entry=failed(tracked, problem.text), reason=problem.reason, retry_s=problem.retry_s)


def pinned_text(tracked: Tracked, tag: str, record: Record) -> str:
    reason = record.pin_reason
    why = ", which was not set by this operator" if reason is None else reason and f" ({reason})"
    return (
        f"{tracked.title} is pinned at {tag or 'no tag'}{why}; remove the pin with: homeostat image unpin {tracked.key}"
    )
