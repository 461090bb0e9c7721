"""Reports: the same findings for people, for programs and for the services that show them."""

import json
from html.parser import HTMLParser

import pytest

from homeostat.operators.policy.engine.manifest import Trouble
from homeostat.operators.policy.report import github, html, sarif, table
from homeostat.operators.policy.report import json as json_report
from homeostat.operators.policy.report.report import Entry, Report, ScoreLine

EVIL = "<script>alert(1)</script>\r\n::error::x, y: 100%"
ENTRY = Entry(
    policy="default/strict",
    kind="Deployment",
    namespace="shop",
    name="web",
    type="missing_readiness",
    severity="low",
    message="container 'main' missing readiness probe",
    container="main",
    source="./k8s/my web.yaml",
    line=12,
)
GRAVE = Entry(policy="p", kind="Pod", namespace="shop", name="a", type="privileged", severity="critical", message=EVIL)
SCORE = ScoreLine(title="default/strict", score=83, classification="Healthy", pods=3, violations=7)
REPORT = Report((ENTRY, GRAVE), (SCORE,), (Trouble("bad.yaml", 4, EVIL),))
EMPTY = Report()


def test_rows_come_gravest_first() -> None:
    rows = table.finding_rows(REPORT)
    assert [row[:4] for row in rows] == [
        ("critical", "privileged", "shop", "Pod/a"),
        ("low", "missing_readiness", "shop", "Deployment/web"),
    ]
    assert all(len(row) == len(table.FINDINGS) for row in rows)
    assert table.score_rows(REPORT.scores) == [("default/strict", "83", "3", "7", "Healthy")]
    assert len(table.SCORES) == 5


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
