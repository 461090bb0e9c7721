"""Audits requests: decides by the policy how much of a request is logged, and passes it to the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.user import User
from homeostat.server.audit.entry import MAX_USER_AGENT, Entry
from homeostat.server.audit.log import AuditLog
from homeostat.server.audit.policy import Policy, Stage
from homeostat.server.request.call import Answer


class Auditor:
    def __init__(self, policy: Policy, log: AuditLog, clock: Callable[[], float] = time.time) -> None:
        self._policy, self._clock = policy, clock
        self.log = log

    def record(
        self,
        request: Request,
        request_id: str,
        attributes: Attributes,
        *,
        caller: User,
        code: int,
        answer: Answer | None,
        seconds: float,
        annotations: Mapping[str, str],
    ) -> None:
        decision = self._policy.decide(attributes)
        if decision.level == "None":
            return
        stage: Stage = "ResponseComplete"
        if isinstance(answer, StreamReply) and not answer.is_finite:
            stage = "ResponseStarted"
        if stage in decision.omit_stages:
            return
        has_request = decision.level != "Metadata"
        # The name of a created object, and the reason of a refusal, are in the response.
        has_response = decision.level == "RequestResponse" or code >= 400 or attributes.verb == "create"
        finished = self._clock()
        headers = request.headers
        self.log.write(
            Entry(
                id=request_id,
                decision=decision,
                stage=stage,
                uri=f"{request.path}?{request.query}" if request.query else request.path,
                attributes=attributes,
                caller=caller,
                address=request.peer.address,
                user_agent=headers.get("user-agent", "")[: MAX_USER_AGENT + 1],
                code=code,
                received=finished - seconds,
                finished=finished,
                annotations=annotations,
                content_type=headers.get("content-type", ""),
                request=request.body if has_request else b"",
                response=answer.body if has_response and isinstance(answer, Reply) else b"",
            )
        )
