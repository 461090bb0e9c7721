"""Keeps an object of a REST API: created where it is missing, updated where a declared field differs, deleted.

    plugin: http
    config:
      url: https://api.example.com/v1/databases
      item: https://api.example.com/v1/databases/${spec.name}
      headers: {Authorization: {store: env, key: API_TOKEN, prefix: "Bearer "}}
      body: {name: "${spec.name}", size: "${spec.size}"}
      outputs: {id: id}

`item` is where the object is; it is read there before anything is done. Where the API names objects itself, `item` is
made from outputs (`.../${outputs.id}`), and `find` says which member of which list is ours: so an object whose creation
was not answered is found, and not created twice. Each creation also carries the run's ticket as `Idempotency-Key`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from homeostat.external.rest.request import Request, Response
from homeostat.external.rest.retry import retry_after_s
from homeostat.external.secrets.secrets import Secrets, SecretText
from homeostat.objects.decision import Wait
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject, decode, encode
from homeostat.operators.actions.plugins.difference import Difference, differences
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Tools
from homeostat.operators.actions.plugins.template import TemplateError, fill, fill_url, lookup
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.world import Plan

Method = Literal["POST", "PUT", "PATCH", "DELETE", "GET"]
_GONE = (404, 410)
_LATER = (429, 503)
_LONGEST_WAIT_S = 3600
_MOST_READ, _LONGEST_TOLD = 1 << 16, 300


class Find(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Among the items of a list, the one whose field has the value."""

    url: str
    items: str = ""
    """Path of the list in the answer; empty where the answer is the list."""
    field: str = "name"
    value: str = "${name}"


class HttpConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    url: str
    """Where objects are created."""
    item: str
    """Where the object is."""
    find: Find | None = None
    create_method: Method = "POST"
    update_method: Method = "PUT"
    delete_method: Method = "DELETE"
    headers: dict[str, SecretText] = {}
    body: dict[str, Any] | None = None
    """What is sent and compared; unless given, the spec."""
    secrets: dict[str, SecretText] = {}
    """Members that are sent beside those of the body, and never compared."""
    outputs: dict[str, str] = {}
    """Outputs of the resource, by paths in the object."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=600)] = 30


class HttpPlugin:
    name, version, config = "http", "1.0.0", HttpConfig
    addresses, credentials = frozenset({"url", "item", "find"}), frozenset({"headers", "secrets"})

    def __init__(self, tools: Tools) -> None:
        self._http = tools.http

    async def plan(self, job: Job[HttpConfig]) -> Plan:
        found = await self._read(job)
        if found is None:
            return Plan(True, Changes(created=1), "does not exist; will be created")
        differing = _differing(job, found)
        told = "\n".join(map(str, differing)) or "matches the declaration"
        return Plan(bool(differing), Changes(updated=1 if differing else 0), told, outputs=_outputs(job, found))

    async def apply(self, job: Job[HttpConfig]) -> Outcome:
        found = await self._read(job)
        values = _values(job)
        body = _declared(job)
        if found is None:
            url = _url(job.config.url, values)
            answer = await self._write(job, job.config.create_method, url, body, {"Idempotency-Key": job.ticket})
            made = _object(answer) or await self._read(job) or {}
            return Outcome(is_success=True, changes=Changes(created=1), outputs=_outputs(job, made), output="created")
        if not _differing(job, found):
            return Outcome(is_success=True, outputs=_outputs(job, found), output="no changes were needed")
        url = _url(job.config.item, _values(job, found))
        answer = await self._write(job, job.config.update_method, url, body)
        outputs = _outputs(job, {**found, **_object(answer)})
        return Outcome(is_success=True, changes=Changes(updated=1), outputs=outputs, output="updated")

    async def destroy(self, job: Job[HttpConfig]) -> Outcome:
        found = await self._read(job)
        if found is None:
            return Outcome(is_success=True, output="already deleted")
        url = _url(job.config.item, _values(job, found))
        answer = await self._send(job, job.config.delete_method, url)
        if not answer.is_success and answer.status not in _GONE:
            raise _refused(answer, job.config.delete_method, job.secrets)
        return Outcome(is_success=True, changes=Changes(deleted=1), output="deleted")

    async def _read(self, job: Job[HttpConfig]) -> JsonObject | None:
        """The object as it is; None where it is known not to be there."""
        try:
            url = fill_url(job.config.item, _values(job))
        except TemplateError as error:
            if job.config.find is None:
                if "${outputs." in job.config.item and not job.is_applied and not job.outputs:
                    return None
                raise ActionError("InvalidConfig", f"action.config.item: {error}") from error
            return await self._find(job, job.config.find)
        answer = await self._send(job, "GET", url)
        if answer.status in _GONE:
            return None
        if not answer.is_success:
            raise _refused(answer, "GET", job.secrets)
        return _object(answer)

    async def _find(self, job: Job[HttpConfig], find: Find) -> JsonObject | None:
        values = _values(job)
        answer = await self._send(job, "GET", _url(find.url, values))
        if not answer.is_success:
            raise _refused(answer, "GET", job.secrets)
        listed = _json(answer)
        try:
            items = lookup(find.items, listed) if find.items else listed
            wanted = fill(find.value, values)
        except TemplateError as error:
            raise ActionError("InvalidConfig", f"action.config.find: {error}") from error
        if not isinstance(items, list):
            raise ActionError("UnexpectedAnswer", f"{find.url} has no list at {find.items or 'its root'}")
        found = [each for each in items if isinstance(each, dict) and each.get(find.field) == wanted]
        if len(found) > 1:
            raise ActionError("Ambiguous", f"{len(found)} objects have {find.field} = {wanted}; one was expected")
        return found[0] if found else None

    async def _write(
        self, job: Job[HttpConfig], method: str, url: str, body: JsonObject, headers: Mapping[str, str] | None = None
    ) -> Response:
        secrets = await job.secrets.reveal_all(job.config.secrets)
        answer = await self._send(job, method, url, encode({**body, **secrets}), headers)
        if not answer.is_success:
            raise _refused(answer, method, job.secrets)
        return answer

    async def _send(
        self,
        job: Job[HttpConfig],
        method: str,
        url: str,
        body: bytes | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Response:
        headers = {"Accept": "application/json", **await job.secrets.reveal_all(job.config.headers), **(more or {})}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        answer = await self._http.send(Request(method, url, headers, body, float(job.config.timeout_seconds)))
        after_s = retry_after_s(answer.headers, job.now.timestamp()) if answer.status in _LATER else None
        if after_s is not None:
            told = f"HTTP {answer.status}: will retry in {after_s:g} s"
            raise Wait("RetryLater", timedelta(seconds=min(max(after_s, 1.0), _LONGEST_WAIT_S)), message=told)
        return answer


def _values(job: Job[HttpConfig], found: JsonObject | None = None) -> JsonObject:
    """Of the outputs, those of the object that was found count before those of the last run."""
    outputs = {**job.outputs, **(_outputs(job, found) if found is not None else {})}
    return {"name": job.name, "namespace": job.namespace, "uid": job.uid, "spec": job.spec, "outputs": outputs}


def _url(template: str, values: JsonObject) -> str:
    try:
        return fill_url(template, values)
    except TemplateError as error:
        raise ActionError("InvalidConfig", f"action.config: {error}") from error


def _declared(job: Job[HttpConfig]) -> JsonObject:
    if job.config.body is None:
        return job.spec
    try:
        body: JsonObject = fill(job.config.body, _values(job))
    except TemplateError as error:
        raise ActionError("InvalidConfig", f"action.config.body: {error}") from error
    return body


def _differing(job: Job[HttpConfig], found: JsonObject) -> list[Difference]:
    return list(differences(_declared(job), found))


def _outputs(job: Job[HttpConfig], found: JsonObject) -> JsonObject:
    outputs = {}
    for name, path in job.config.outputs.items():
        try:
            outputs[name] = lookup(path, found)
        except TemplateError:
            continue
    return outputs


def _json(answer: Response) -> Json:
    try:
        return decode(answer.body)
    except BadRequestError as error:
        raise ActionError("UnexpectedAnswer", f"HTTP {answer.status}: the body is not JSON: {error}") from error


def _object(answer: Response) -> JsonObject:
    if not answer.body.strip():
        return {}
    found = _json(answer)
    return found if isinstance(found, dict) else {}


def _refused(answer: Response, method: str, secrets: Secrets) -> ActionError:
    # Scrubbed before it is cut: half a secret could not be recognised.
    told = secrets.scrub(answer.body[:_MOST_READ].decode(errors="replace"))[:_LONGEST_TOLD].strip()
    return ActionError("Refused", f"{method}: HTTP {answer.status}{f': {told}' if told else ''}")
