"""Reconciles an object of a REST API: creates it if it is missing, updates it if a declared field differs, deletes it.

    plugin: http
    config:
      url: https://api.example.com/v1/databases
      item: https://api.example.com/v1/databases/${spec.name}
      headers: {Authorization: {store: env, key: API_TOKEN, prefix: "Bearer "}}
      body: {name: "${spec.name}", size: "${spec.size}"}
      outputs: {id: id}

`item` is the URL of the object; it is read before each write. If the API assigns ids itself, `item` contains an output
(`.../${outputs.id}`), and `find` says how to find the object in a list: if the answer to a creation was lost, the
object is found and not created twice. Each creation also sends the run's ticket as `Idempotency-Key`.
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
    """Selects the item of a list whose field has the value."""

    url: str
    items: str = ""
    """Path of the list in the answer; empty if the answer itself is the list."""
    field: str = "name"
    value: str = "${name}"


class HttpConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    url: str
    """The URL that objects are created at."""
    item: str
    """The URL of the object."""
    find: Find | None = None
    create_method: Method = "POST"
    update_method: Method = "PUT"
    delete_method: Method = "DELETE"
    headers: dict[str, SecretText] = {}
    body: dict[str, Any] | None = None
    """What is sent and compared; default: the spec."""
    secrets: dict[str, SecretText] = {}
    """Members that are added to the body when it is sent, and never compared."""
    outputs: dict[str, str] = {}
    """Outputs of the resource, as paths in the object."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=600)] = 30


class HttpPlugin:
    name, version, config = "http", "1.0.0", HttpConfig
    addresses, credentials = frozenset({"url", "item", "find"}), frozenset({"headers", "secrets"})
    restricted = frozenset({"body", "outputs", "createMethod", "updateMethod", "deleteMethod"})

    def __init__(self, tools: Tools) -> None:
        self._http = tools.http

    async def plan(self, job: Job[HttpConfig]) -> Plan:
        found = await self._read(job)
        if found is None:
            return Plan(True, Changes(created=1), "does not exist; will be created")
        differing = _differing(job, found)
        message = "\n".join(map(str, differing)) or "matches the declaration"
        return Plan(bool(differing), Changes(updated=1 if differing else 0), message, outputs=_outputs(job, found))

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
        """Returns the object; None if it does not exist."""
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
            message = f"HTTP {answer.status}: will retry in {after_s:g} s"
            raise Wait("RetryLater", timedelta(seconds=min(max(after_s, 1.0), _LONGEST_WAIT_S)), message=message)
        return answer


def _values(job: Job[HttpConfig], found: JsonObject | None = None) -> JsonObject:
    """Values for templates. Outputs of the found object override those of the last run."""
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
    # Secrets are removed before the text is cut: half a secret would not be recognised.
    message = secrets.scrub(answer.body[:_MOST_READ].decode(errors="replace"))[:_LONGEST_TOLD].strip()
    return ActionError("Refused", f"{method}: HTTP {answer.status}{f': {message}' if message else ''}")
