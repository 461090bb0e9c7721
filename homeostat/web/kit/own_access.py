"""Whether this server itself is allowed to do something, by SelfSubjectAccessReview.

A page offers a change only if its visitor and its server are allowed to make it. On a cluster, a server has only the
permissions that it needs to show pages, unless somebody grants it more.
"""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.web.kit.gate import Question

_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


async def server_may(client: Client, question: Question) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": question._asdict()},
    }
    answer = await client.create(_PATH, review)
    return bool(answer["status"].get("allowed"))
