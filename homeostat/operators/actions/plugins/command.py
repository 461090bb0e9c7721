"""Reconciles resources by programs of your own: one to plan, one to apply, one to destroy.

Each program reads the resource as JSON from stdin and writes a JSON answer to stdout; stderr is its log. An exit code
other than 0 is a failure.

| program | fields of the answer, all optional |
|---|---|
| plan | `changed`, `created`, `updated`, `deleted`, `message`, `outputs` of what exists; it changes nothing |
| apply, destroy | `outputs`, `created`, `updated`, `deleted`, `message`, `conditions` |

Without a plan program, a declaration is applied once and counts as unchanged until a reconciliation is requested. A
program runs in the resource's own working directory, in an environment of its own, within limits of time and memory. An
interrupted `apply` may be run again, and `destroy` has to succeed if nothing is left.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from homeostat.external.process import Finished, Program
from homeostat.external.secrets.secrets import SecretText
from homeostat.objects.conditions import Condition
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Tools
from homeostat.operators.actions.plugins.work_directory import LOCK, as_text, enter, run_alone
from homeostat.operators.actions.runs.run import Changes, Outcome, Purpose, shortened
from homeostat.operators.actions.world import Plan

_LONGEST_ERROR = 900
_LONGEST_QUOTE = 200


class CommandConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    apply: Annotated[tuple[str, ...], Meta(min_length=1)]
    plan: tuple[str, ...] = ()
    destroy: tuple[str, ...] = ()
    environment: dict[str, SecretText] = {}
    timeout_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 600
    memory_mebibytes: Annotated[int, Meta(ge=16, le=1 << 20)] = 1024


class Answer(msgspec.Struct, frozen=True):
    """The answer of a program."""

    changed: bool | None = None
    created: int = 0
    updated: int = 0
    deleted: int = 0
    message: str = ""
    outputs: dict[str, Any] = {}
    conditions: tuple[Condition, ...] = ()

    @property
    def changes(self) -> Changes:
        return Changes(created=self.created, updated=self.updated, deleted=self.deleted)


class CommandPlugin:
    name, version, config = "command", "1.0.0", CommandConfig
    type_only = frozenset({"plan", "apply", "destroy", "environment", "memoryMebibytes"})
    runs_programs = True

    def __init__(self, _: Tools) -> None:
        pass

    async def plan(self, job: Job[CommandConfig]) -> Plan:
        if not job.config.plan:
            if not job.is_applied:
                return Plan(True, output="not applied yet")
            return Plan(False, output="no plan program is configured", is_assumed=True)
        message, printed = await self._run(job, "plan", job.config.plan)
        if message.changed is None:
            raise ActionError("UnexpectedAnswer", 'the output of the plan program must contain "changed"')
        return Plan(message.changed, message.changes, message.message or printed, outputs=message.outputs)

    async def apply(self, job: Job[CommandConfig]) -> Outcome:
        return _outcome(*await self._run(job, "apply", job.config.apply))

    async def destroy(self, job: Job[CommandConfig]) -> Outcome:
        if not job.config.destroy:
            return Outcome(is_success=True, message="no destroy program is configured; nothing was destroyed")
        return _outcome(*await self._run(job, "destroy", job.config.destroy))

    async def _run(self, job: Job[CommandConfig], purpose: Purpose, arguments: tuple[str, ...]) -> tuple[Answer, str]:
        enter(job.directory)
        program = Program(
            arguments=arguments,
            directory=job.directory,
            environment=await job.secrets.reveal_all(job.config.environment),
            stdin=encode(_question(job, purpose)),
            timeout_s=float(job.config.timeout_seconds),
            memory_bytes=job.config.memory_mebibytes << 20,
            lock=job.directory / LOCK,
            on_stderr=as_text(job.echo),
        )
        finished = await run_alone(program)
        printed = finished.stderr.decode(errors="replace")
        if finished.code != 0:
            # Secrets are removed before the text is cut: half a secret would not be recognised.
            raise ActionError("ProgramFailed", _failure(finished, job.secrets.scrub(printed)), output=printed)
        return _answer(finished.stdout, job.secrets.scrub), printed


def _question(job: Job[CommandConfig], purpose: Purpose) -> JsonObject:
    return {
        "purpose": purpose,
        "kind": job.kind,
        "namespace": job.namespace,
        "name": job.name,
        "uid": job.uid,
        "generation": job.generation,
        "digest": job.digest,
        "ticket": job.ticket,
        "isApplied": job.is_applied,
        "spec": job.spec,
        "outputs": job.outputs,
    }


def _answer(stdout: bytes, scrub: Callable[[str], str]) -> Answer:
    if not stdout.strip():
        return Answer()
    try:
        return msgspec.json.decode(stdout, type=Answer)
    except msgspec.DecodeError as error:
        # As above: secrets first.
        printed = scrub(stdout.decode(errors="replace")).strip()
        begins = json.dumps(printed[:_LONGEST_QUOTE], ensure_ascii=False)
        message = (
            f"the standard output of the program is invalid: {error}; it begins with {begins}; "
            "print one JSON object to standard output, and logs to standard error"
        )
        raise ActionError("UnexpectedAnswer", message) from error


def _failure(finished: Finished, printed: str) -> str:
    how = f"signal {-finished.code}" if finished.code < 0 else f"exit code {finished.code}"
    return f"{how}: {shortened(printed.strip(), _LONGEST_ERROR)}".rstrip(": ")


def _outcome(message: Answer, printed: str) -> Outcome:
    return Outcome(
        is_success=True,
        message=message.message,
        changes=message.changes,
        output=printed,
        outputs=message.outputs,
        conditions=message.conditions,
    )
