"""How values are printed: as JSON or YAML, a text as it is, bytes as they are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click
import msgspec

from homeostat.operators.sync.engine.errors import SyncError, ValidationError, of

if TYPE_CHECKING:
    from homeostat.cli.sync.console.run import Run
    from homeostat.objects.json import Json, JsonObject
    from homeostat.operators.sync.engine.payload.codec import Payload
    from homeostat.operators.sync.session.apply import Outcome


def print_value(run: Run, value: Json) -> None:
    """A structured value: JSON, or YAML if it is asked for."""
    if run.settings.output == "yaml":
        from homeostat.operators.sync.engine.payload import yaml

        _write(yaml.dump(value))
    else:
        _write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def print_payload(run: Run, payload: Payload) -> None:
    from homeostat.operators.sync.engine.payload.codec import encode, wrapped

    if (isinstance(payload.value, str | bytes) and run.settings.output in ("auto", "text")) or (
        run.settings.output == "text" and payload.form.is_structured and payload.form.type != "json"
    ):
        _write(encode(payload.value, payload.form))
    else:
        print_value(run, wrapped(payload))


def print_text(run: Run, text: str) -> None:
    if run.settings.output in ("json", "yaml"):
        raise ValidationError(f"this command prints text only; -o {run.settings.output} is not supported")
    click.echo(text, nl=False)


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def is_text(run: Run) -> bool:
    """Whether text is asked for; without a choice, a terminal gets text and a pipe JSON."""
    return run.settings.output == "text" or (run.settings.output == "auto" and sys.stdout.isatty())


_VALUES: Final = ("Local", "Remote", "Payload", "RemoteID")


def scrubbed(run: Run, entry: JsonObject) -> JsonObject:
    """An entry without known secrets in its values. Paths are names of files: one may be equal to a password."""
    return {key: run.scrubber.scrub_json(item) if key in _VALUES else item for key, item in entry.items()}


def finish(run: Run, outcomes: Sequence[Outcome], path: str) -> None:
    """Print the results for the resources of a path if the user asked for them, and fail if anything failed."""
    if run.settings.verbosity:
        written = [each.written for each in outcomes if each.written is not None]
        entries = [scrubbed(run, each.entry) for each in sorted(written, key=lambda each: each.path)]
        if run.settings.output == "text":
            click.echo("".join(f"{each['LogicalPath']}\n" for each in entries), nl=False)
        elif entries:
            is_one = len(outcomes) == 1 and outcomes[0].path == path
            print_value(run, entries[0] if is_one else entries)
    raise_first([each.error for each in outcomes if each.error is not None], len(outcomes))


def raise_first(errors: Sequence[SyncError], count: int) -> None:
    """One error as it is; of several, the first kind with the texts of all."""
    if not errors:
        return
    if len(errors) == 1:
        raise errors[0] if count == 1 else of(errors[0].resource, errors[0])
    text = "; ".join(str(each) for each in errors[:20])
    more = f"; and {len(errors) - 20} more" if len(errors) > 20 else ""
    raise type(errors[0])(f"{len(errors)} of {count} resources failed: {text}{more}")
