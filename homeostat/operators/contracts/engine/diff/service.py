"""Compares the service: identity, owner, image, chart, scaling and readiness. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.json import Json
from homeostat.operators.contracts.engine.diff.change import Change, Kind, make_change, text_kind
from homeostat.operators.contracts.engine.document.contract import (
    Chart,
    Check,
    Contact,
    Contract,
    Image,
    Owner,
    Readiness,
    Scaling,
    Service,
)


def diff_service(old: Contract, new: Contract) -> Iterator[Change]:
    if old.pacto_version != new.pacto_version:
        yield make_change("pactoVersion", "modified", old.pacto_version, new.pacto_version)
    if old.service.name != new.service.name:
        yield make_change("service.name", "modified", old.service.name, new.service.name)
    if old.service.version != new.service.version:
        yield make_change("service.version", "modified", old.service.version, new.service.version)
    yield from _diff_owner(_owner(old.service), _owner(new.service))
    yield from diff_text("service.image", _image(old.service.image), _image(new.service.image))
    yield from diff_text("service.chart", _chart(old.service.chart), _chart(new.service.chart))
    yield from _diff_scaling(old.scaling, new.scaling)


def diff_text(path: str, old: str, new: str) -> Iterator[Change]:
    if old != new:
        yield make_change(path, text_kind(old, new), old, new)


def diff_number(path: str, old: float | None, new: float | None) -> Iterator[Change]:
    """Compare optional numbers; an absent number differs from zero but is shown as zero."""
    if old != new:
        yield make_change(path, presence_kind(old, new), old or 0, new or 0)


def presence_kind(old: Json, new: Json) -> Kind:
    return "added" if old is None else "removed" if new is None else "modified"


def _owner(service: Service) -> Owner:
    return service.owner if isinstance(service.owner, Owner) else Owner(team=service.owner or "")


def _diff_owner(old: Owner, new: Owner) -> Iterator[Change]:
    yield from diff_text("service.owner.team", old.team, new.team)
    yield from diff_text("service.owner.dri", old.dri, new.dri)
    before = {f"{each.type}:{each.value}": each for each in old.contacts}
    after = {f"{each.type}:{each.value}": each for each in new.contacts}
    for key in sorted(before.keys() | after.keys()):
        previous, current = before.get(key), after.get(key)
        if previous is None or current is None or previous.purpose != current.purpose:
            path = f"service.owner.contacts[{key}]"
            yield make_change(path, presence_kind(previous, current), _contact(previous), _contact(current))


def _contact(contact: Contact | None) -> str | None:
    if contact is None:
        return None
    return f"{contact.type}:{contact.value}{contact.purpose and f' ({contact.purpose})'}"


def _image(image: Image | None) -> str:
    return "" if image is None else f"{image.ref}{' (private)' if image.private else ''}"


def _chart(chart: Chart | None) -> str:
    return "" if chart is None else f"{chart.ref}:{chart.version}"


def _diff_scaling(old: Scaling | None, new: Scaling | None) -> Iterator[Change]:
    if old is None or new is None:
        if old is not new:
            yield make_change("scaling", presence_kind(old, new), _scaling(old), _scaling(new))
    elif (old.replicas is None) != (new.replicas is None):
        yield make_change("scaling", "modified", _scaling(old), _scaling(new))
    elif old.replicas is not None:
        if old.replicas != new.replicas:
            yield make_change("scaling.replicas", "modified", old.replicas, new.replicas)
    else:
        if old.min != new.min:
            yield make_change("scaling.min", "modified", old.min, new.min)
        if old.max != new.max:
            yield make_change("scaling.max", "modified", old.max, new.max)


def _scaling(scaling: Scaling | None) -> str | None:
    if scaling is None:
        return None
    return f"min={scaling.min} max={scaling.max}" if scaling.replicas is None else f"replicas={scaling.replicas}"


def diff_readiness(old: Readiness | None, new: Readiness | None) -> Iterator[Change]:
    """Compare readiness sections, without their history, which grows with every release."""
    if old is None or new is None:
        if old is not new:
            values = [None if each is None else "readiness" for each in (old, new)]
            yield make_change("readiness", presence_kind(old, new), *values)
        return
    yield from diff_number("readiness.minScore", old.min_score, new.min_score)
    yield from diff_text("readiness.expires", old.expires, new.expires)
    yield from diff_number("readiness.partialCredit", old.partial_credit, new.partial_credit)
    before, after = {each.id: each for each in old.checks}, {each.id: each for each in new.checks}
    for name in sorted(before.keys() | after.keys()):
        previous, current = before.get(name), after.get(name)
        if previous != current:
            path = f"readiness.checks[{name}]"
            yield make_change(path, presence_kind(previous, current), _check(previous), _check(current))


def _check(check: Check | None) -> str | None:
    if check is None:
        return None
    first = f"expires={check.expires}" if check.expires else f"status={check.status}"
    return f"{first} weight={check.weight} evidence={check.evidence}"
