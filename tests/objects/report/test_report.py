"""Reports: the same findings for people, for programs and for the services that show them."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.report import github, html, junit, sarif, table
from homeostat.objects.report import json as json_report
from homeostat.objects.report.report import Entry, Problem, Report, Summary, Terms

EVIL = "<script>alert(1)</script>\r\n::error::x, y: 100%"
ENTRY = Entry(
    origin="default/strict",
    kind="Deployment",
    namespace="shop",
    name="web",
    type="missing_readiness",
    severity="low",
    message="container 'main' missing readiness probe",
    part="main",
    source="./k8s/my web.yaml",
    line=12,
)
GRAVE = Entry(origin="p", kind="Pod", namespace="shop", name="a", type="privileged", severity="critical", message=EVIL)
SCORE = Summary(title="default/strict", score=83, classification="Healthy", subjects=3, findings=7)
TERMS = Terms(topic="policy", origin="policy", part="container", finding="violation", subject="pod")
REPORT = Report((ENTRY, GRAVE), (SCORE,), (Problem("bad.yaml", 4, EVIL),), TERMS)
EMPTY = Report(terms=TERMS)


def test_rows_come_gravest_first() -> None:
    rows = table.finding_rows(REPORT)
    assert [row[:4] for row in rows] == [
        ("critical", "privileged", "shop", "Pod/a"),
        ("low", "missing_readiness", "shop", "Deployment/web"),
    ]
    assert all(len(row) == len(table.finding_headings(TERMS)) for row in rows)
    assert table.summary_rows(REPORT.summaries, REPORT.terms) == [("default/strict", "83", "3", "7", "Healthy")]
    assert table.summary_rows(REPORT.summaries, Terms(has_scores=False)) == [("default/strict", "3", "7", "Healthy")]
    assert table.summary_headings(TERMS) == ("POLICY", "SCORE", "PODS", "VIOLATIONS", "STATUS")


def test_json_has_scores_violations_and_errors() -> None:
    body = json.loads(json_report.render(REPORT))
    assert body["scores"][0]["score"] == 83
    assert body["violations"][0]["source"] == "./k8s/my web.yaml"
    assert body["errors"] == [{"source": "bad.yaml", "line": 4, "message": EVIL}]
    assert json_report.render(REPORT) == json_report.render(REPORT)
    assert json.loads(json_report.render(EMPTY)) == {"scores": [], "violations": [], "errors": []}


def test_sarif_names_rules_results_and_places() -> None:
    body = json.loads(sarif.render(REPORT, version="1.2.3"))
    (run,) = body["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert body["version"] == "2.1.0"
    assert run["tool"]["driver"]["version"] == "1.2.3"
    assert [each["id"] for each in rules] == ["missing_readiness", "privileged"]
    first, second = run["results"]
    assert rules[first["ruleIndex"]]["id"] == first["ruleId"] == "missing_readiness"
    assert (first["level"], second["level"]) == ("note", "error")
    place = first["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "k8s/my%20web.yaml"}, "region": {"startLine": 12}}
    assert "physicalLocation" not in second["locations"][0]
    assert first["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "Deployment/shop/web"
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == EVIL


def test_sarif_of_nothing_is_a_successful_run() -> None:
    (run,) = json.loads(sarif.render(EMPTY, version="1"))["runs"]
    assert (run["results"], run["invocations"][0]["executionSuccessful"]) == ([], True)


def test_github_gets_one_command_a_line() -> None:
    lines = github.render(REPORT).splitlines()
    assert lines[0] == (
        "::notice file=./k8s/my web.yaml,line=12,title=missing_readiness::"
        "Deployment/web: container 'main' missing readiness probe"
    )
    assert lines[1].startswith("::error title=privileged::Pod/a: <script>alert(1)</script>%0D%0A::error::x, y: 100%25")
    assert lines[2].startswith("::error file=bad.yaml,line=4,title=unreadable::")
    assert len(lines) == 3
    assert github.render(EMPTY) == ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("report", [REPORT, EMPTY], ids=["some", "none"])
def test_html_is_well_formed_and_harmless(report: Report) -> None:
    reader = _Reader()
    reader.feed(html.render(report, title="<b>shop</b>"))
    assert reader.open == []
    assert not {"script", "b", "link", "img"} & set(reader.tags)
    assert "<b>shop</b>" in reader.text


def test_html_shows_scores_findings_and_troubles() -> None:
    page = html.render(REPORT)
    for told in ("83", "Healthy", "missing_readiness", "container &#x27;main&#x27;", "bad.yaml:4", "1 critical, 1 low"):
        assert told in page
    assert "no violations" in html.render(EMPTY)


def test_junit_has_a_suite_for_each_policy_and_a_case_for_each_violation() -> None:
    root = ElementTree.fromstring(junit.render(REPORT))
    assert (root.get("name"), root.get("tests"), root.get("failures"), root.get("errors")) == (
        "homeostat policy",
        "3",
        "2",
        "1",
    )
    assert [(each.get("name"), each.get("tests")) for each in root] == [
        ("default/strict", "1"),
        ("p", "1"),
        ("unreadable", "1"),
    ]
    case = root[0][0]
    assert (case.get("classname"), case.get("name")) == ("Deployment/shop/web/main", "missing_readiness")
    assert (case.get("file"), case.get("line")) == ("./k8s/my web.yaml", "12")
    assert (case[0].tag, case[0].get("type"), case[0].text) == (
        "failure",
        "low",
        "./k8s/my web.yaml:12: container 'main' missing readiness probe",
    )
    assert root[1][0][0].get("message") == EVIL
    assert (root[2][0][0].tag, root[2][0].get("name")) == ("error", "bad.yaml:4")


def test_junit_of_a_cluster_whose_policies_have_violations_is_not_a_case_that_passed() -> None:
    cluster = Summary(title="staging", score=83, classification="Healthy", subjects=3, findings=1)
    clean = Summary(title="production", score=100, classification="Healthy", subjects=3, findings=0)
    root = ElementTree.fromstring(junit.render(Report((ENTRY,), (cluster, clean))))
    assert [(each.get("name"), each.get("failures")) for each in root] == [("production", "0"), ("default/strict", "1")]
    assert (root.get("tests"), root.get("failures")) == ("2", "1")


def test_junit_of_a_policy_that_checked_nothing_is_skipped() -> None:
    nothing = Summary(title="default/strict", classification="Nothing checked", subjects=0, findings=0)
    (suite,) = ElementTree.fromstring(junit.render(Report(summaries=(nothing,))))
    ((case,),) = [list(suite)]
    assert (suite.get("tests"), suite.get("skipped"), [each.tag for each in case]) == ("1", "1", ["skipped"])


def test_junit_of_a_policy_without_violations_is_a_case_that_passed() -> None:
    clean = msgspec.structs.replace(SCORE, findings=0)
    (suite,) = ElementTree.fromstring(junit.render(Report(summaries=(clean,))))
    assert (suite.get("tests"), suite.get("failures"), len(suite[0])) == ("1", "0", 0)


@given(st.text())
def test_junit_is_xml_whatever_a_message_says(text: str) -> None:
    entry = msgspec.structs.replace(ENTRY, message=text, name=text, origin=text)
    ElementTree.fromstring(junit.render(Report((entry,), problems=(Problem(text, 1, text),))))


def test_terms_name_the_parts_of_a_report() -> None:
    terms = Terms(topic="contract", origin="contract", part="interface", subject="service")
    body = json.loads(
        json_report.render(
            Report((ENTRY,), (Summary(title="a", classification="Compliant", subjects=1, findings=0),), terms=terms)
        )
    )
    assert (body["findings"][0]["contract"], body["findings"][0]["interface"]) == ("default/strict", "main")
    assert body["scores"] == [
        {"title": "a", "score": None, "classification": "Compliant", "services": 1, "findings": 0, "exempted": 0}
    ]
    assert "Contract report" in html.render(Report(terms=terms))
