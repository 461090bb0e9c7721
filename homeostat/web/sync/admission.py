"""The admission webhook of the `sync` operator, at the paths of the original: `/validate-declarest-io-v1alpha1-KIND`.

An API server calls it over TLS; an embedded plane runs the same checks in process and needs no webhook. A review that
is unreadable is 400. If it does not answer, the `failurePolicy` of its configuration decides.

It is served on request only (`SYNC_ADMISSION`): whoever reaches it can ask which policies and Secrets exist.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.edge.server import Handler
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.errors import ApiError, BadRequestError, status_of
from homeostat.objects.json import JsonObject, decode_object, encode
from homeostat.objects.roles import READ, rule
from homeostat.operators.sync.admission.check import Admission
from homeostat.operators.sync.admission.configuration import ENABLED, GUARDED, path_of
from homeostat.operators.sync.api.parts import GROUP
from homeostat.operators.sync.validation.environment import Variables
from homeostat.runtime.faces.face import FaceRules, Surroundings
from homeostat.web.kit.answering import Answering
from homeostat.web.kit.large_body import is_in_thread, read_large
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.refusal import RefusalError, refusal_reply

RULES: Final = FaceRules(
    cluster=(
        rule(GROUP, ["syncpolicies", "resourcerepositories"], READ),
        rule("", ["secrets"], ["get"]),
    )
)
_LONGEST_WARNING: Final = 256


def is_enabled(environment: Mapping[str, str]) -> bool:
    """Raises `ValueError` for a value that is neither true nor false."""
    text = environment.get(ENABLED, "").strip().lower()
    if text not in ("", "0", "1", "true", "false"):
        raise ValueError(f'{ENABLED} is "{text}"; expected true or false')
    return text in ("1", "true")


class Reviews:
    def __init__(self, admission: Admission, kind: CustomKind) -> None:
        self._admission, self._kind = admission, kind

    async def review(self, request: Request, captured: Mapping[str, str]) -> Reply:
        try:
            asked = (await read_large(request.body, partial(_read, request.body), user="reviews"))["request"]
            old, new = asked.get("oldObject"), asked.get("object")
            if asked.get("operation") == "DELETE":
                new = None
            return Reply(200, encode(await self._answer(str(asked["uid"]), old, new)))
        except (BadRequestError, KeyError, TypeError, AttributeError) as error:
            raise RefusalError(400, "the body is not an AdmissionReview of admission.k8s.io/v1") from error

    async def _answer(self, uid: str, old: JsonObject | None, new: JsonObject | None) -> JsonObject:
        response: JsonObject = {"uid": uid, "allowed": True}
        try:
            warnings = await self._admission.check(self._kind, old, new)
        except ApiError as error:
            response |= {"allowed": False, "status": status_of(error)}
        else:
            if warnings:
                response["warnings"] = [each[:_LONGEST_WARNING] for each in warnings]
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def _read(body: bytes) -> JsonObject:
    return decode_object(body, in_pieces=is_in_thread())


@asynccontextmanager
async def open_app(surroundings: Surroundings) -> AsyncIterator[Handler]:
    """Opens the face that the operator declares."""
    admission = Admission(surroundings.client, Variables(surroundings.environment))
    answering = Answering(surroundings.figures.once(AdmissionFigures))
    routes = Routes(lambda status, message: refusal_reply(RefusalError(status, message)))
    is_served = is_enabled(surroundings.environment)
    for each in GUARDED if is_served else ():
        path = path_of(each)
        routes.add("POST", path, answering.page(path, Reviews(admission, each).review))
    yield partial(answering.handle, routes)


class AdmissionFigures(RestFigures):
    prefix = "homeostat_sync_admission"
    title = "admission of sync"
