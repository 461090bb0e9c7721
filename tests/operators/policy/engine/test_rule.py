"""Rules of one's own: what they find, and what becomes of those that have no answer."""

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.policy.spec import Exemption, PolicySpec, Rule
from tests.operators.policy.worlds import GOOD, NOW, evaluator_of, pod_json, to_pod

RULES = [
    pytest.param("object.spec.containers.size() < 3", {}, [], id="holds"),
    pytest.param("object.metadata.name.startsWith('x')", {"message": "bad name"}, ["bad name"], id="does not hold"),
    pytest.param("false", {}, ["rule 'own' failed: false"], id="tells itself"),
    pytest.param(
        "false", {"messageExpression": "'pod ' + object.metadata.name"}, ["pod web"], id="tells by expression"
    ),
    pytest.param("false", {"message": "m", "messageExpression": "object.nope"}, ["m"], id="message has no value"),
    pytest.param("object.spec.nope", {}, ["rule 'own' cannot be evaluated: no such key: nope"], id="has no value"),
    pytest.param("object.spec.containers", {}, [""], id="is no truth"),
]


@pytest.mark.parametrize(("expression", "fields", "messages"), RULES)
def test_a_rule_of_ones_own_is_a_check(expression: str, fields: JsonObject, messages: list[str]) -> None:
    rule = msgspec.convert({"name": "own", "expression": expression, **fields}, Rule)
    evaluator = evaluator_of(PolicySpec(rules=(rule,)))
    body = pod_json()
    findings = evaluator.evaluate(to_pod(body), now=NOW, body=body).findings
    assert evaluator.needs_body
    assert len(findings) == len(messages)
    for finding, message in zip(findings, messages, strict=True):
        assert message in finding.message
        assert (finding.check.type, finding.check.severity, finding.check.points) == ("own", "medium", 3)


def test_a_rule_without_the_whole_pod_is_refused() -> None:
    evaluator = evaluator_of(PolicySpec(rules=(Rule(name="own", expression="true"),)))
    with pytest.raises(ValueError, match="pass its body"):
        evaluator.evaluate(GOOD, now=NOW)


def test_a_rule_that_costs_too_much_is_a_finding() -> None:
    loops = "object.a.all(x, object.a.all(y, object.a.all(z, x + y + z >= 0)))"
    evaluator = evaluator_of(PolicySpec(rules=(Rule(name="own", expression=loops),)))
    (finding,) = evaluator.evaluate(GOOD, now=NOW, body={"a": list(range(500))}).findings
    assert "cost limit exceeded" in finding.message


def test_all_rules_of_a_policy_share_what_a_pod_may_cost() -> None:
    loops = "object.a.all(x, object.a.all(y, object.a.all(z, x + y + z >= 0)))"
    rules = tuple(Rule(name=f"own{at}", expression=loops if at < 3 else "true") for at in range(4))
    findings = evaluator_of(PolicySpec(rules=rules)).evaluate(GOOD, now=NOW, body={"a": list(range(500))}).findings
    assert len(findings) == 4
    assert all("cost limit exceeded" in each.message for each in findings)


def test_a_rule_may_be_exempted_by_its_name() -> None:
    spec = PolicySpec(
        rules=(Rule(name="own", expression="false"),), exemptions=(Exemption(reason="r", checks=("own",)),)
    )
    assert evaluator_of(spec).evaluate(GOOD, now=NOW, body={}).exempted == 1
