"""Links from violations to the Pods and workloads that they are about, for who may read these."""

from __future__ import annotations

import re
from typing import NamedTuple

from homeostat.objects.kind import DEPLOYMENT, POD
from homeostat.web.dashboard.html.markup import Node, el
from homeostat.web.dashboard.link import may_read
from homeostat.web.dashboard.objects.kinds import kind_path, object_path
from homeostat.web.dashboard.visit import Visit
from homeostat.web.policy.dashboard.groups import workload_of

# The hash of a template consists of these characters alone.
_of_deployment = re.compile(r"(?P<name>.+)-[4-9bcdf]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}").fullmatch


class PodLinks(NamedTuple):
    namespace: str
    has_pods: bool
    has_deployments: bool

    def pod(self, name: str) -> Node:
        return el("a", name, href=object_path(POD, self.namespace, name)) if self.has_pods else name

    def workload(self, pod: str) -> Node:
        """The Deployment, where the name of a Pod says that it has one; else the Pods with that name."""
        name = workload_of(pod)
        if self.has_deployments and _of_deployment(pod) is not None:
            return el("a", name, href=object_path(DEPLOYMENT, self.namespace, name))
        return el("a", name, href=kind_path(POD, namespace=self.namespace, q=name)) if self.has_pods else name


async def pod_links(visit: Visit, namespace: str) -> PodLinks:
    """Permissions are asked once for the namespace, not for each Pod."""
    return PodLinks(namespace, await may_read(visit, POD, namespace), await may_read(visit, DEPLOYMENT, namespace))
