"""What the server refuses of services, endpoints, ingresses and network policies, in Kubernetes' words."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json
from homeostat.server.kinds.builtins.checks import check
from tests.server.kinds.builtins.manifests import ABSENT, GOOD, NETWORKING, defaulted, put, told


@pytest.mark.parametrize(
    ("group", "kind", "path", "value", "expected"),
    [
        ("", "Service", "spec.ports", [], "spec.ports: Required value"),
        ("", "Service", "spec.ports", [{"port": 80}, {"port": 81}], "spec.ports[0].name: Required value"),
        (
            "",
            "Service",
            "spec.ports",
            [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}],
            'spec.ports[1].name: Duplicate value: "a"',
        ),
        (
            "",
            "Service",
            "spec.ports",
            [{"port": 80, "nodePort": 30000}],
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            "",
            "Service",
            "spec.type",
            "Anycast",
            (
                'spec.type: Unsupported value: "Anycast": supported values: "ClusterIP", "ExternalName", '
                '"LoadBalancer", "NodePort"'
            ),
        ),
        ("", "Service", "spec.type", "ExternalName", "spec.externalName: Required value"),
        (
            "",
            "Service",
            "spec.clusterIP",
            "x",
            'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
        (
            "",
            "Endpoints",
            "subsets.0.addresses",
            [],
            "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
        ),
        (
            NETWORKING,
            "Ingress",
            "spec.rules",
            [],
            "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified",
        ),
        (
            NETWORKING,
            "Ingress",
            "spec.rules.0.host",
            "1.2.3.4",
            'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
        ),
        (
            NETWORKING,
            "Ingress",
            "spec.rules.0.http.paths.0.pathType",
            ABSENT,
            "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified",
        ),
        (
            NETWORKING,
            "Ingress",
            "spec.rules.0.http.paths.0.path",
            "a",
            'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
        ),
        (
            NETWORKING,
            "NetworkPolicy",
            "spec.ingress.0.from",
            [{}],
            "spec.ingress[0].from[0]: Required value: must specify a peer",
        ),
        (
            NETWORKING,
            "NetworkPolicy",
            "spec.ingress.0.from",
            [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/9"]}}],
            'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/9": must be a strict subset of `cidr`',
        ),
        (
            NETWORKING,
            "IngressClass",
            "spec.controller",
            "nginx",
            'spec.controller: Invalid value: "nginx": must be a domain-prefixed path (such as "acme.io/foo")',
        ),
        (
            "discovery.k8s.io",
            "EndpointSlice",
            "addressType",
            "IPX",
            'addressType: Unsupported value: "IPX": supported values: "FQDN", "IPv4", "IPv6"',
        ),
    ],
)
def test_one_wrong_member_is_refused(group: str, kind: str, path: str, value: Json, expected: str) -> None:
    obj = defaulted(group, kind, put(GOOD[group, kind], path, value), uid="u-1")
    assert told(check(group, kind, obj))[0].startswith(expected)
