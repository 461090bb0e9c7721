"""Which requests an audit policy has logged, and how much of them."""

from __future__ import annotations

import pytest

from homeostat.server.access.attributes import Attributes
from homeostat.server.access.user import User
from homeostat.server.audit.policy import DEFAULT, AuditPolicyError, Decision, parse_policy

JANE = User("jane", groups=("devs", "system:authenticated"))
GET_POD = Attributes(user=JANE, verb="get", version="v1", resource="pods", namespace="default", name="web")
UPDATE_SCALE = Attributes(
    user=JANE, verb="update", group="apps", version="v1", resource="deployments", subresource="scale", namespace="a"
)
GET_SECRET = Attributes(user=JANE, verb="get", version="v1", resource="secrets", namespace="default", name="s")
METRICS = Attributes(user=JANE, verb="get", path="/metrics")


def policy(rules: str) -> bytes:
    return f"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: {rules}\n".encode()


@pytest.mark.parametrize(
    ("rules", "wanted", "level"),
    [
        pytest.param("[{level: Metadata}]", GET_POD, "Metadata", id="any"),
        pytest.param("[{level: None, verbs: [get]}, {level: Request}]", GET_POD, "None", id="first rule decides"),
        pytest.param("[{level: None, verbs: [list]}, {level: Request}]", GET_POD, "Request", id="another verb"),
        pytest.param("[{level: Metadata, users: [bob]}]", GET_POD, "None", id="no rule matches"),
        pytest.param("[{level: Metadata, users: [bob, jane]}]", GET_POD, "Metadata", id="user"),
        pytest.param("[{level: Metadata, userGroups: [devs]}]", GET_POD, "Metadata", id="group"),
        pytest.param("[{level: Metadata, userGroups: [ops]}]", GET_POD, "None", id="another group"),
        pytest.param("[{level: Metadata, namespaces: [default]}]", GET_POD, "Metadata", id="namespace"),
        pytest.param("[{level: Metadata, namespaces: [other]}]", GET_POD, "None", id="another namespace"),
        pytest.param("[{level: Metadata, namespaces: [default]}]", METRICS, "None", id="a URL has no namespace"),
        pytest.param('[{level: Metadata, resources: [{group: ""}]}]', GET_POD, "Metadata", id="API group"),
        pytest.param("[{level: Metadata, resources: [{group: apps}]}]", GET_POD, "None", id="another API group"),
        pytest.param("[{level: Metadata, resources: [{resources: [pods]}]}]", GET_POD, "Metadata", id="resource"),
        pytest.param(
            "[{level: Metadata, resources: [{resources: [pods], resourceNames: [db]}]}]", GET_POD, "None", id="name"
        ),
        pytest.param(
            "[{level: Request, resources: [{group: apps, resources: [deployments]}]}]",
            UPDATE_SCALE,
            "None",
            id="a subresource is not its resource",
        ),
        pytest.param(
            "[{level: Request, resources: [{group: apps, resources: [deployments/scale]}]}]",
            UPDATE_SCALE,
            "Request",
            id="subresource",
        ),
        pytest.param(
            "[{level: Request, resources: [{group: apps, resources: ['*/scale']}]}]", UPDATE_SCALE, "Request", id="*/"
        ),
        pytest.param(
            "[{level: Request, resources: [{group: apps, resources: ['deployments/*']}]}]",
            UPDATE_SCALE,
            "Request",
            id="/*",
        ),
        pytest.param("[{level: Metadata, nonResourceURLs: ['/met*']}]", METRICS, "Metadata", id="URL"),
        pytest.param("[{level: Metadata, nonResourceURLs: ['/livez']}]", METRICS, "None", id="another URL"),
        pytest.param("[{level: Metadata, nonResourceURLs: ['*']}]", GET_POD, "None", id="an object is no URL"),
        pytest.param("[{level: RequestResponse}]", GET_SECRET, "Metadata", id="Secrets are not named"),
        pytest.param(
            "[{level: RequestResponse, resources: [{resources: ['*']}]}]",
            GET_SECRET,
            "Metadata",
            id="nor by a wildcard",
        ),
        pytest.param(
            "[{level: RequestResponse, resources: [{resources: [secrets]}]}]",
            GET_SECRET,
            "RequestResponse",
            id="Secrets are named",
        ),
    ],
)
def test_the_first_rule_that_matches_decides(rules: str, wanted: Attributes, level: str) -> None:
    assert parse_policy(policy(rules)).decide(wanted).level == level


def test_stages_and_managed_fields_may_be_omitted() -> None:
    text = policy("[{level: Request, omitStages: [ResponseStarted], omitManagedFields: false}]")
    decided = parse_policy(text + b"omitStages: [RequestReceived]\nomitManagedFields: true\n").decide(GET_POD)
    assert decided == Decision("Request", frozenset({"ResponseStarted", "RequestReceived"}), False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(b"rules: [", "", id="no YAML"),
        pytest.param(b"rules: []", "rules: a policy without rules logs nothing", id="no rules"),
        pytest.param(policy("[{level: Everything}]"), "$.rules[0].level", id="unknown level"),
        pytest.param(policy("[{level: Metadata, verb: get}]"), "unknown field `verb`", id="unknown field"),
        pytest.param(
            policy("[{level: Metadata}, {level: Metadata, namespaces: [a], nonResourceURLs: ['/a']}]"),
            "rules[1]: a rule is about resources or about nonResourceURLs",
            id="both",
        ),
        pytest.param(b"kind: Pod\nrules: [{level: None}]", "$.kind", id="another kind"),
        pytest.param(b"#" * 2**21, "at most", id="too large"),
    ],
)
def test_an_invalid_policy_says_where(text: bytes, problem: str) -> None:
    with pytest.raises(AuditPolicyError) as caught:
        parse_policy(text)
    assert problem in str(caught.value)


def test_the_default_logs_who_did_what_and_no_health_checks() -> None:
    assert DEFAULT.decide(GET_POD).level == "Metadata"
    assert DEFAULT.decide(METRICS).level == "Metadata"
    assert DEFAULT.decide(Attributes(user=JANE, verb="get", path="/readyz")).level == "None"
