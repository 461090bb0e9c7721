"""No text of an object becomes markup, on any page that links lead to: a page that is added is covered without a word.

A visitor follows links from the overview, page by page, through objects whose texts try to run a script, to reverse the
text beside them, to control a terminal, or to fill the page.
"""

from __future__ import annotations

from collections import deque
from urllib.parse import urldefrag, urljoin, urlsplit

from playwright.async_api import Browser

from homeostat.operators.images.api import IMAGE_UPDATE
from homeostat.operators.sync.api.policy import SYNC_POLICY
from homeostat.plane import Plane
from tests.web.contracts.dashboard.test_graph import declare_services
from tests.web.dashboard.declaring import SINCE, ready
from tests.web.dashboard.objects.seed import CONFIG_MAPS, HOSTILE, seed, seed_lamps
from tests.web.dashboard.site import Document, Page, Site, note
from tests.web.images.dashboard.test_images import declare_all as declare_images
from tests.web.sync.dashboard.test_policies import declare_all as declare_syncs

MOST_PAGES = 150
MOST_OPENED = 25
LONGEST_PAGE = 1 << 21
OPERATORS = ("/sync/policies/default/orders", "/images/default/broken")
MARKS = "\u202egnp.\u2066\u200b\ufeff\x1b]0;taken\x07\x1b[2J'\"`&lt;"
LONG = HOSTILE + MARKS + "x" * 900_000
SPILLING = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const texts = [...each.childNodes].filter((node) => node.nodeType === 3);
  const own = texts.some((node) => /[\u202a-\u202e\u2066-\u2069]/.test(node.data));
  const style = getComputedStyle(each);
  return own && style.display.startsWith("inline") && !/isolate|plaintext/.test(style.unicodeBidi);
}).map((each) => each.outerHTML.slice(0, 200))"""
"""The elements from which a mark of direction reaches the text beside them."""
_TARGETS = ("href", "src", "action", "formaction", "poster", "data")


def faults_of(page: Page) -> list[str]:
    """What would let a text run as a script here."""
    policy = page.headers.get("Content-Security-Policy", "")
    found = [] if policy and "unsafe" not in policy else [f"the policy is {policy!r}"]
    for tag, attributes, text in page.document.elements:
        found += [f"<{tag} {name}>" for name in attributes if name.startswith("on") or name in ("style", "srcdoc")]
        found += [
            f"<{tag} {name}={value[:60]!r}>"
            for name, value in attributes.items()
            if name in _TARGETS and urlsplit(value).scheme not in ("", "http", "https")
        ]
        if tag in ("script", "style") and text.strip():
            found.append(f"<{tag}> with text")
        if tag in ("img", "iframe", "object", "embed", "base"):
            found.append(f"<{tag}>")
    return found


def links_of(document: Document, at: str) -> list[str]:
    """The pages of the dashboard that this one leads to, without the part of the address that all share."""
    targets = (urldefrag(urljoin(f"/dashboard{at}", each.attributes.get("href", "")))[0] for each in document.all("a"))
    return [each.removeprefix("/dashboard") for each in targets if each.startswith("/dashboard")]


def shape_of(path: str) -> str:
    """Pages of one sort have one shape."""
    parts = urlsplit(path).path.split("/")
    return f"{'/'.join(parts[:3])} {len(parts)} {sorted(each.partition('=')[0] for each in path.split('?')[1:])}"


async def declare_operators(plane: Plane) -> None:
    """Conditions, results and plans that are as long as they may be, and a line of a megabyte."""
    await plane.client.create(CONFIG_MAPS, {"metadata": {"name": "long"}, "data": {"line": LONG}})
    await declare_syncs(plane)
    await declare_images(plane)
    await declare_services(plane)
    change = {"pointer": f"/{MARKS}", "declared": MARKS, "live": HOSTILE}
    resources = [{"path": f"/{number}{MARKS}", "result": "updated", "changes": [change] * 20} for number in range(100)]
    status = {"conditions": [ready("False", "ReconcileFailed", MARKS)], "resources": resources}
    plan = {"plan": {"time": SINCE, "request": "1", "revision": MARKS, "resources": resources}}
    await plane.client.merge(SYNC_POLICY.kind.path("default", "orders", "status"), {"status": status | plan})
    result = {"result": {"action": "failed", "message": LONG[:4000], "time": SINCE}}
    await plane.client.merge(IMAGE_UPDATE.kind.path("default", "broken", "status"), {"status": result})


async def test_no_text_of_an_object_becomes_markup_on_any_page(site: Site, plane: Plane, browser: Browser) -> None:
    await seed(plane.client)
    await seed_lamps(plane.client)
    await site.declare("/resources", note("hostile", text=HOSTILE + MARKS))
    await declare_operators(plane)
    waiting, seen = deque(["", "/login"]), {"", "/login"}
    shapes: dict[str, str] = {}
    faults: dict[str, list[str]] = {}
    quoting = 0
    while waiting and len(seen) - len(waiting) < MOST_PAGES:
        path = waiting.popleft()
        page = await site.open(path)
        if "html" not in page.headers.get("Content-Type", "") or page.status == 303:
            continue
        shapes.setdefault(shape_of(path), path)
        quoting += "&lt;script&gt;document.title" in page.source
        if len(page.source) > LONGEST_PAGE:
            faults[path] = [f"{len(page.source)} characters"]
        if (found := faults_of(page)) or page.status >= 500:
            faults[path] = [str(page.status), *found]
        for each in links_of(page.document, path):
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    assert faults == {}
    assert quoting >= 3, "the hostile texts are shown"
    assert len(shapes) >= 5
    tab = await browser.new_page()
    reversing = 0
    for path in {*OPERATORS, *list(shapes.values())[:MOST_OPENED]}:
        await tab.goto(f"{site.url}/dashboard{path}")
        assert await tab.title() != "taken", path
        assert await tab.evaluate(SPILLING) == [], path
        reversing += "\u202e" in await tab.content()
    assert reversing >= 2, "the marks are shown"


def test_markup_that_runs_a_script_is_noticed() -> None:
    source = "<main><a href='javascript:x' onclick='y'>z</a><script>w</script></main>"
    found = faults_of(Page(200, source, {"Content-Security-Policy": "default-src 'none'"}))
    assert found == ["<a onclick>", "<a href='javascript:x'>", "<script> with text"]
