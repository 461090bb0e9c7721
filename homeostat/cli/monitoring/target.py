"""Whose metrics an expression reads: the labels that replace its placeholders (`runtime/deployment.py`). Pure."""

from __future__ import annotations

from typing import Final

import msgspec

_PROCESS, _JOB, _WEBHOOK = "$target", "$job", "$webhook"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Label matchers of PromQL, separated by commas."""

    process: str
    job: str
    webhook: str

    def fill(self, expression: str) -> str:
        for placeholder, matchers in ((_PROCESS, self.process), (_WEBHOOK, self.webhook), (_JOB, self.job)):
            expression = expression.replace(f"{{{placeholder}", f"{{{matchers}")
        return expression


def one_target(job: str, *, namespace: str = "", webhook: str = "") -> Target:
    """The processes of one deployment. Prometheus calls the job as it calls the Service in a cluster, where it also
    adds the namespace; `webhook` is the job of the admission webhook, if that is another one.
    """
    own = f"job={_quoted(job)}"
    place = f", namespace={_quoted(namespace)}" if namespace else ""
    return Target(process=f"{own}{place}", job=own, webhook=f"job={_quoted(webhook)}" if webhook else own)


VARIABLES: Final = Target(process='job=~"$job", namespace=~"$namespace"', job='job=~"$job"', webhook='job=~"$job"')
"""Those that a user of Grafana has chosen."""


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
