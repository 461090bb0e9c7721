"""Home: one answer from the reports of all sections; what is unknown is not called healthy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from homeostat.client.base import Client
from homeostat.edge.reply import Reply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.objects.errors import ForbiddenError, UnavailableError
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.web.dashboard.dashboard import Dashboard
from homeostat.web.dashboard.home.report import Change, Problem, Report, Upcoming
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.gate import Administrator
from homeostat.web.kit.routing import Page as Handle
from homeostat.web.kit.sessions.sessions import Sessions
from tests.web.dashboard.site import Document
from tests.web.dashboard.test_section import Closed

GOOD = Report(noun="shelf", plural="shelves", total=3, as_declared=3)
FULL = tuple(Problem(f"s-{each}", f"/dashboard/s/{each}", "is full", since="2026-11-02T00:00:00Z") for each in range(4))
BAD = Report(
    noun="vault",
    total=9,
    as_declared=2,
    wrong=5,
    problems=(
        Problem("near", "/dashboard/v/near", "will expire", "warn", "2026-01-01T00:00:00Z"),
        Problem("young", "/dashboard/v/young", "is open", since="2026-11-03T00:00:00Z"),
        *FULL,
        Problem("old", "/dashboard/v/old", "<script>", since="2026-11-01T00:00:00Z"),
    ),
    changes=(Change("old", "/dashboard/v/old", "opened", "2026-11-01T00:00:00Z", "bad"),),
    upcoming=(
        Upcoming("late", "/dashboard/v/late", "expires", "2027-01-01T00:00:00Z", "warn"),
        Upcoming("soon", "/dashboard/v/soon", "is due", "2026-12-01T00:00:00Z"),
        Upcoming("frozen", "/dashboard/v/frozen", "is suspended"),
    ),
)


async def home(**reports: Report | Exception | None) -> Document:
    def reporting(report: Report | Exception | None) -> Callable[[Visit], Awaitable[Report | None]]:
        async def report_it(visit: Visit) -> Report | None:
            if isinstance(report, Exception):
                raise report
            return report

        return report_it

    async def identify(request: Request) -> Administrator:
        return Administrator("admin")

    async def log_in(request: Request, captured: Mapping[str, str]) -> Reply:
        return Reply(200)

    sections = [
        Section(title=title, path=f"/dashboard/{title}", views={}, report=reporting(report))
        for title, report in reports.items()
    ]
    routes: dict[tuple[str, str], Handle] = {}
    client = Client(Closed())
    sessions = Sessions(NamespaceSecrets(client, "default"), life_s=60)
    dashboard = Dashboard(sections, client=client, identify=identify, log_in=log_in, sessions=sessions)
    dashboard.add_routes(lambda method, pattern, page: routes.update({(method, pattern): page}))
    reply = await routes["GET", "/dashboard"](Request("GET", "/dashboard", "", Headers(), b"", Peer("::1"), {}), {})
    assert isinstance(reply, Reply)
    assert isinstance(reply.body, bytes)
    return Document(reply.body.decode())


async def test_the_answer_is_the_worst_that_is_known() -> None:
    unread = UnavailableError("no answer")
    busy = Report(noun="shelf", total=2, as_declared=1)
    held = Report(noun="shelf", total=2, as_declared=1, paused=1, paused_word="pinned")
    for reports, answer in (
        ({}, "Nothing is declared yet"),
        ({"a": None}, "Nothing is declared yet"),
        ({"a": GOOD}, "Everything is as declared: 3 objects"),
        ({"a": GOOD, "b": busy}, "1 object of 5 is unknown or in progress"),
        ({"a": GOOD, "b": held}, "4 of 5 objects are as declared; 1 is pinned or paused"),
        ({"a": busy, "b": held}, "1 object of 4 is unknown or in progress; 1 is pinned or paused"),
        ({"a": GOOD, "b": ForbiddenError("cannot list vaults")}, "Unknown: cannot read b"),
        ({"a": GOOD, "b": unread}, "Unknown: cannot read b"),
        ({"a": GOOD, "b": unread, "c": BAD}, "5 objects of 12 are not as declared; 2 are unknown or in progress"),
    ):
        page = await home(**reports)
        assert page.one("h1").text == answer
    assert page.one("li", id="home-a").text.startswith("3 of 3")
    assert page.one("li", id="home-b").text.startswith("?")
    page = await home(a=held)
    assert page.one("a", class_="tile").attributes["class"] == "tile plain"
    assert page.one("li", id="home-a").text.endswith("1 pinned")


async def test_a_pin_that_holds_something_back_is_listed_and_not_called_well() -> None:
    late = Problem("shop/web", "/dashboard/i/web", "pinned at 1, and 2 is newer", "warn", word="pinned")
    held = Report(noun="shelf", total=2, as_declared=1, paused=1, paused_word="pinned")
    assert (await home(a=held)).one("h1").attributes["class"] == "verdict plain"
    page = await home(a=msgspec.structs.replace(held, problems=(late,)))
    assert (page.one("h1").text, page.one("h1").attributes["class"]) == (
        "1 of 2 objects are as declared; 1 is pinned or paused",
        "verdict warn",
    )
    assert "pinned at 1, and 2 is newer" in page.one("table", class_="problems").text
    assert "Nothing is wrong" not in page.one("main").text
    page = await home(a=held, b=BAD)
    assert page.one("h1").text.endswith("; 2 are unknown or in progress; 1 is pinned or paused")


async def test_problems_are_ordered_by_how_bad_and_how_old_and_shown_once() -> None:
    page = await home(Vaults=BAD)
    rows = [each.text for each in page.all("th", scope="row")]
    assert [each.partition("Vaults")[0].partition("and")[0] for each in rows] == ["old", "s-0", "young", "near"]
    assert "and 3 more for this reason" in rows[1]
    first, second = (each.text for each in page.all("ol", class_="timeline"))
    assert [first.index(each) for each in ("frozen", "soon", "late")] == sorted(
        first.index(each) for each in ("frozen", "soon", "late")
    )
    assert "opened" in second
    assert [each for each in page.all("script") if "src" not in each.attributes] == []


async def test_objects_that_fail_alike_and_name_themselves_are_one_row() -> None:
    wrong = [Problem(f"shop/svc-{at}", "/dashboard/p", f'Service "svc-{at}" does not exist') for at in range(3)]
    other = Problem("shop/a", "/dashboard/p", 'Service "a" is a mess')
    report = Report(noun="pact", total=4, as_declared=0, problems=(*wrong, other))
    rows = [each.text for each in (await home(Pacts=report)).all("th", scope="row")]
    assert len(rows) == 2
    assert "shop/svc-0and 2 more for this reason" in rows[0] or "shop/svc-0and 2 more for this reason" in rows[1]


async def test_what_should_have_happened_already_is_due() -> None:
    retry = Upcoming("a", "/dashboard/d", "will retry", "2020-01-01T00:00:00Z")
    later = Upcoming("b", "/dashboard/d", "will retry", "2999-01-01T00:00:00Z")
    report = Report(noun="shelf", total=2, as_declared=2, upcoming=(retry, later))
    shown = (await home(a=report)).one("ol", class_="timeline").text
    assert "will retry, due 2020-01-01" in shown
    assert "will retry 2999-01-01" in shown


async def test_what_is_frozen_leaves_room_for_what_is_due() -> None:
    pinned = tuple(Upcoming(f"pin-{each}", "/dashboard/p", "is pinned") for each in range(30))
    due = tuple(
        Upcoming(f"due-{each}", "/dashboard/d", "is due", f"2026-12-{each + 1:02}T00:00:00Z") for each in range(9)
    )
    report = Report(noun="shelf", total=39, as_declared=9, paused=30, upcoming=(*pinned, *due))
    shown = (await home(a=report)).one("ol", class_="timeline").text
    assert [word for word in ("pin-0", "pin-5", "pin-6", "due-0", "due-5", "due-6") if word in shown] == [
        *("pin-0", "pin-5", "due-0", "due-5"),
    ]
