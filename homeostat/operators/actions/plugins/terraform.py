"""Reconciles resources by a Terraform configuration, with `terraform` or `tofu`.

    plugin: terraform
    config:
      files:
        main.tf: |
          variable "size" {}
          resource "terraform_data" "db" { input = var.size }
          output "id" { value = terraform_data.db.id }

The members of the resource's spec are the variables. The state is stored in Secrets, unless the files configure another
backend. A plan with changes is drift if the declaration has not changed. An interrupted apply continues from the state
that it left. Sensitive outputs stay in the state.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from homeostat.external.process import PATH, Finished, Program
from homeostat.external.secrets.secrets import Secrets, SecretText
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.actions.digest import digest_of
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Tools
from homeostat.operators.actions.plugins.terraform_state import newer_state
from homeostat.operators.actions.plugins.work_directory import LOCK, as_lines, enter, run_alone
from homeostat.operators.actions.runs.run import Changes, Outcome, shortened
from homeostat.operators.actions.world import Plan

_STATE = "terraform.tfstate"
_VARIABLES = "homeostat.auto.tfvars.json"
_PREPARED = ".homeostat-prepared"
_FIXED = {"CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "TF_INPUT": "0"}
_CHANGED = 2
_GRACE_S = 60.0
_LONGEST_ERROR = 900


class TerraformConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    files: Annotated[dict[str, str], Meta(min_length=1)]
    """The text of each file, by its path relative to the working directory."""
    program: str = ""
    """`terraform`, `tofu` or a path; default: the one that is installed."""
    environment: dict[str, SecretText] = {}
    variables: dict[str, Any] = {}
    """Additional variables; the spec overrides them."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 3600
    memory_mebibytes: Annotated[int, Meta(ge=256, le=1 << 20)] = 4096


class Line(msgspec.Struct, frozen=True, rename={"message": "@message", "level": "@level"}):
    """One line of Terraform's output with `-json`."""

    type: str = ""
    level: str = ""
    message: str = ""
    changes: dict[str, Any] = {}


class Output(msgspec.Struct, frozen=True):
    value: Any = None
    sensitive: bool = False


_read_line = msgspec.json.Decoder(Line).decode
_read_outputs = msgspec.json.Decoder(dict[str, Output]).decode


class TerraformPlugin:
    name, version, config = "terraform", "1.0.0", TerraformConfig
    type_only = frozenset({"files", "program", "environment", "memoryMebibytes"})
    targets = frozenset({"variables"})
    runs_programs = True

    def __init__(self, tools: Tools) -> None:
        self._path = tools.environment.get("PATH", PATH)

    async def plan(self, job: Job[TerraformConfig]) -> Plan:
        await self._prepare(job)
        done = await self._run(job, "plan", "-detailed-exitcode", "-json", expected=(0, _CHANGED))
        return Plan(done.code == _CHANGED, _changes(done, "plan"), _text(done))

    async def apply(self, job: Job[TerraformConfig]) -> Outcome:
        await self._prepare(job)
        done = await self._change(job, "apply")
        outputs = _read_outputs((await self._run(job, "output", "-json")).stdout)
        for each in outputs.values():
            if each.sensitive:
                job.secrets.hide(each.value if isinstance(each.value, str) else encode(each.value).decode())
        hidden = sum(each.sensitive for each in outputs.values())
        return Outcome(
            is_success=True,
            message=f"{hidden} sensitive outputs are stored only in the Terraform state" if hidden else "",
            changes=_changes(done, "apply"),
            output=_text(done),
            outputs={name: each.value for name, each in outputs.items() if not each.sensitive},
        )

    async def destroy(self, job: Job[TerraformConfig]) -> Outcome:
        await self._prepare(job)
        done = await self._change(job, "destroy")
        await job.state.save(b"")
        await asyncio.to_thread(shutil.rmtree, job.directory, ignore_errors=True)
        return Outcome(is_success=True, changes=_changes(done, "destroy"), output=_text(done))

    async def _change(self, job: Job[TerraformConfig], command: str) -> Finished:
        """Saves the state even if the command fails: it describes what was created."""
        try:
            return await self._run(job, command, "-auto-approve", "-json")
        finally:
            state = _read(job.directory / _STATE)
            if state:
                await asyncio.shield(job.state.save(state))

    async def _prepare(self, job: Job[TerraformConfig]) -> None:
        enter(job.directory)
        kept = await job.state.load()
        variables = {**job.config.variables, **job.spec}
        await asyncio.to_thread(_lay_out, job.directory, job.config.files, variables, kept)
        stamp = digest_of(job.config.files).encode()
        if _read(job.directory / _PREPARED) != stamp:
            await self._run(job, "init")
            (job.directory / _PREPARED).write_bytes(stamp)

    async def _run(
        self, job: Job[TerraformConfig], command: str, *options: str, expected: tuple[int, ...] = (0,)
    ) -> Finished:
        common = ("-no-color",) if command == "output" else ("-no-color", "-input=false")
        program = Program(
            arguments=(self._program(job), command, *common, *options),
            directory=job.directory,
            environment={"PATH": self._path, **_FIXED, **await job.secrets.reveal_all(job.config.environment)},
            timeout_s=float(job.config.timeout_seconds),
            memory_bytes=job.config.memory_mebibytes << 20,
            # On SIGINT Terraform finishes its current operations and writes its state.
            stop_signal=signal.SIGINT,
            grace_s=_GRACE_S,
            lock=job.directory / LOCK,
            on_stdout=as_lines(lambda line: _echo(job, line)) if "-json" in options and command != "output" else None,
        )
        done = await run_alone(program)
        if done.code not in expected:
            raise ActionError("TerraformFailed", f"{command}: {_failure(done, job.secrets)}", output=_text(done))
        return done

    def _program(self, job: Job[TerraformConfig]) -> str:
        wanted = (job.config.program,) if job.config.program else ("terraform", "tofu")
        for each in wanted:
            if found := shutil.which(each, path=self._path):
                return found
        raise ActionError("ProgramMissing", f"there is no {' and no '.join(wanted)} in PATH")


def _lay_out(directory: Path, files: dict[str, str], variables: JsonObject, kept: bytes) -> None:
    """Writes the declared files and the newest state, and removes files of earlier declarations."""
    for old in (*directory.glob("*.tf"), *directory.glob("*.tf.json")):
        old.unlink()
    for name, text in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or path.parts[:1] == (".terraform",):
            raise ActionError(
                "InvalidConfig", f'action.config.files: "{name}" must be a relative path inside the directory'
            )
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    (directory / _VARIABLES).write_bytes(encode(variables))
    here = _read(directory / _STATE)
    state = newer_state(kept, here)
    if state and state != here:
        (directory / _STATE).write_bytes(state)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _lines(done: Finished) -> list[Line]:
    return [_line(each) for each in done.stdout.splitlines()]


def _line(text: bytes) -> Line:
    try:
        return _read_line(text)
    except msgspec.DecodeError:
        return Line(message=text.decode(errors="replace"))


def _text(done: Finished) -> str:
    return "\n".join(each.message for each in _lines(done) if each.type != "version")


def _echo(job: Job[TerraformConfig], text: str) -> None:
    line = _line(text.encode())
    if line.type != "version":
        job.echo(f"{line.message}\n")


def _changes(done: Finished, operation: str) -> Changes:
    for each in reversed(_lines(done)):
        if each.type == "change_summary" and each.changes.get("operation") == operation:
            counts = (each.changes.get(word, 0) for word in ("add", "change", "remove"))
            return Changes(**dict(zip(("created", "updated", "deleted"), counts, strict=True)))
    return Changes()


def _failure(done: Finished, secrets: Secrets) -> str:
    errors = [each.message for each in _lines(done) if each.level == "error"]
    message = "\n".join(errors) or done.stderr.decode(errors="replace").strip() or _text(done)
    # Secrets are removed before the text is cut: half a secret would not be recognised.
    return shortened(secrets.scrub(message), _LONGEST_ERROR)
