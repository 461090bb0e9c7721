"""What must hold of a run: the log it left, what each writer was answered, what each watcher received."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import inf

from tests.consistency.clients import Step
from tests.consistency.linearizability import ImpossibleError, Operation, is_linearizable
from tests.consistency.messages import Delivered, Failed, Found, Read, Refused, Stored, Write

State = tuple[int, str]
"""Revision and text of an object; (0, "") for none."""
NOTHING: State = (0, "")
Effect = Callable[[State], State]


def violations(
    log: Sequence[Delivered], writers: Iterable[Sequence[Step]], watchers: Iterable[Sequence[Delivered]]
) -> list[str]:
    """In words; empty if everything holds."""
    steps = [step for each in writers for step in each]
    return [
        *_faults_of_log(log),
        *_faults_of_watchers(log, watchers),
        *_faults_of_answers(log, steps),
        *_faults_of_order(steps),
        *_faults_of_objects(log, steps),
    ]


def _faults_of_log(log: Sequence[Delivered]) -> Iterable[str]:
    if [event.revision for event in log] != list(range(1, len(log) + 1)):
        yield "the log's revisions have gaps or repeats"
    for text, count in Counter(event.text for event in log).items():
        if count > 1:
            yield f"the write of {text} is in the log {count} times"


def _faults_of_watchers(log: Sequence[Delivered], watchers: Iterable[Sequence[Delivered]]) -> Iterable[str]:
    for number, events in enumerate(watchers):
        if list(events) != list(log):
            odd = next((i for i, (one, other) in enumerate(zip(events, log, strict=False)) if one != other), None)
            seen = "nothing more" if odd is None else events[odd]
            yield f"watcher {number} received {len(events)} of {len(log)} events; at {odd}: {seen}"


def _faults_of_answers(log: Sequence[Delivered], steps: Iterable[Step]) -> Iterable[str]:
    stored = {event.text: event for event in log}
    for step in steps:
        if isinstance(step.asked, Read):
            continue
        text = step.asked.text
        match step.answer:
            case Stored(revision=revision):
                found = stored.get(text)
                if found is None or found.revision != revision:
                    yield f"the write of {text} was acknowledged at {revision}, and the log has {found}"
            case Refused() | Failed(is_uncertain=False):
                if text in stored:
                    yield f"the write of {text} was refused, and the log has {stored[text]}"


def _faults_of_order(steps: Iterable[Step]) -> Iterable[str]:
    """One write answered before another was asked for has the lower revision, whatever their objects."""
    moments: list[tuple[float, bool, int]] = []
    for step in steps:
        if isinstance(step.answer, Stored):
            moments += [(step.began, False, step.answer.revision), (step.ended, True, step.answer.revision)]
    newest = 0
    for _, is_end, revision in sorted(moments):
        if is_end:
            newest = max(newest, revision)
        elif revision <= newest:
            yield f"revision {revision} was asked for after {newest} had been acknowledged"


def _faults_of_objects(log: Sequence[Delivered], steps: Iterable[Step]) -> Iterable[str]:
    stored = {event.text: event.revision for event in log}
    histories: dict[str, list[Operation[State]]] = defaultdict(list)
    for step in steps:
        operation = _operation(step, stored)
        if operation is not None:
            histories[step.asked.name].append(operation)
    for name, history in histories.items():
        if not is_linearizable(history, NOTHING):
            yield f"no order of its {len(history)} operations explains what was answered about {name}"


def _operation(step: Step, stored: dict[str, int]) -> Operation[State] | None:
    asked, answer = step.asked, step.answer
    if isinstance(asked, Read):
        return Operation(step.began, step.ended, _read(answer)) if isinstance(answer, Found) else None
    match answer:
        case Stored(revision=revision):
            return Operation(step.began, step.ended, _write(asked, revision))
        case Refused(revision=revision):
            return Operation(step.began, step.ended, _refusal(asked, revision))
        case None if asked.text in stored:
            # Nobody was answered, so it may have happened at any time since; the log says that it did.
            return Operation(step.began, inf, _write(asked, stored[asked.text]))
    return None


def _read(found: Found) -> Effect:
    def apply(state: State) -> State:
        if state != (found.revision, found.text):
            raise ImpossibleError
        return state

    return apply


def _write(asked: Write, revision: int) -> Effect:
    def apply(state: State) -> State:
        if state[0] != asked.expect or revision <= state[0]:
            raise ImpossibleError
        return NOTHING if asked.is_deletion else (revision, asked.text)

    return apply


def _refusal(asked: Write, current: int) -> Effect:
    def apply(state: State) -> State:
        is_absent = asked.is_deletion and not current
        if state[0] != current or (current == asked.expect and not is_absent):
            raise ImpossibleError
        return state

    return apply
