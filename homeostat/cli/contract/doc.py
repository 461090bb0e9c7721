"""`homeostat contract doc`: the documentation of a contract, as Markdown, as a static site or served."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from homeostat.cli.contract.session.files import write_files
from homeostat.cli.contract.session.overrides import override_options, read_overrides
from homeostat.cli.contract.session.result import ContractFailure, failures, print_result
from homeostat.cli.contract.session.session import Session, run
from homeostat.cli.contract.session.settings import Settings, current_settings
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.graph.graph import Graph
from homeostat.operators.contracts.engine.validate import Overrides
from homeostat.operators.contracts.engine.views.doc import render_doc

if TYPE_CHECKING:
    from homeostat.edge.server import Handler

_SITE: Final = ".html"
_PORT: Final = 8484


class Documented(msgspec.Struct, frozen=True):
    bundle: Bundle
    graph: Graph


@click.command(short_help="Print, write or serve the documentation of a contract.")
@click.argument("ref", metavar="[BUNDLE]", default=".")
@click.option("-o", "--output", metavar="DIRECTORY|NAME.html", help="Write Markdown there, or a static site in NAME/.")
@click.option("--serve", "is_served", is_flag=True, help="Serve the site on this machine.")
@click.option("--ui", type=click.Choice(["swagger"]), help="Serve the operations of one interface on this machine.")
@click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="Of --serve and --ui.")
@click.option("--interface", default="", metavar="NAME", help="The interface that --ui shows.")
@click.option("--target", default="", metavar="URL", help="Base URL of the example calls of --ui.")
@override_options()
def command(
    ref: str,
    output: str | None,
    is_served: bool,
    ui: str | None,
    port: int,
    interface: str,
    target: str,
    values: tuple[str, ...],
    settings: tuple[str, ...],
) -> None:
    """Print the documentation of a contract as Markdown: what it is, offers and needs.

    -o DIRECTORY writes SERVICE.md there; -o NAME.html writes a site of static pages into NAME/. The pages need no
    script and load nothing, so they work from a file and from any web server. --serve serves them at 127.0.0.1, and
    --ui shows the operations of one interface alone. A dependency that cannot be resolved is shown as such.

    \b
    Examples:
      homeostat contract doc billing
      homeostat contract doc billing -o docs/
      homeostat contract doc billing -o site.html
      homeostat contract doc oci://registry.example.org/contracts/billing --serve
      homeostat contract doc billing --ui swagger --interface api --target http://localhost:8080
    """
    if sum(map(bool, (output, is_served, ui))) > 1:
        raise click.UsageError("-o, --serve and --ui exclude each other")
    if (interface or target) and not ui:
        raise click.UsageError("--interface and --target are options of --ui")
    chosen = current_settings()
    with failures():
        found = run(_read(chosen, ref, read_overrides(values, settings)))
    if is_served or ui:
        from homeostat.cli.contract.session.serving import serve_until_stopped

        pages = _interface_page(found.bundle, interface, target) if ui else _site(found)
        run(serve_until_stopped(_handler(pages), port, title="Serving the documentation"))
        return
    _print(chosen, found, output)


def _print(chosen: Settings, found: Documented, output: str | None) -> None:
    name = found.bundle.contract.service.name
    markdown, path = "", ""
    if output is None or not output.endswith(_SITE):
        markdown = render_doc(found.bundle, found.graph, _today())
    if output is not None:
        directory = Path(output.removesuffix(_SITE))
        pages = _site(found) if output.endswith(_SITE) else {f"{name}.md": markdown.encode()}
        with failures():
            write_files(directory, pages)
        path = str(directory / next(iter(pages)))
    fields = {"serviceName": name, "markdown": markdown, "path": path}
    print_result(chosen, lambda: fields, lambda: f"Wrote {path}" if path else markdown)


async def _read(chosen: Settings, ref: str, overrides: Overrides) -> Documented:
    async with Session(chosen) as session:
        loaded = await session.load(ref, overrides)
        graph, _ = await session.closure(loaded).graph(loaded.parsed.contract)
        return Documented(loaded.bundle, graph)


def _site(found: Documented) -> dict[str, bytes]:
    from homeostat.web.documentation.site import render_site

    return render_site(found.bundle, found.graph, _today())


def _interface_page(bundle: Bundle, name: str, target: str) -> dict[str, bytes]:
    from homeostat.web.documentation.site import INDEX, api_names, render_interface

    names = api_names(bundle)
    if not names:
        raise ContractFailure("no http interface of the contract has an OpenAPI document")
    if not name and len(names) > 1:
        raise ContractFailure(f"several interfaces have an OpenAPI document; choose with --interface {'|'.join(names)}")
    page = render_interface(bundle, name or names[0], target=target)
    if page is None:
        raise ContractFailure(f'"{name}" is not an interface with an OpenAPI document; there are {", ".join(names)}')
    return {INDEX: page}


def _today() -> date:
    return datetime.now(UTC).date()


def _handler(pages: dict[str, bytes]) -> Handler:
    from homeostat.edge.loopback import refusal_of
    from homeostat.edge.reply import Reply
    from homeostat.edge.request import Request
    from homeostat.web.documentation.frame import HEADERS
    from homeostat.web.documentation.site import INDEX

    def answer(request: Request) -> Reply:
        if problem := refusal_of(request.method, request.headers):
            return Reply(403, f"{problem}\n".encode(), "text/plain; charset=utf-8")
        if request.method not in ("GET", "HEAD"):
            return Reply(405, b"", "", (("Allow", "GET, HEAD"),))
        page = pages.get(request.path.strip("/") or INDEX)
        if page is None:
            return Reply(404, b"there is no such page\n", "text/plain; charset=utf-8")
        return Reply(200, page, "text/html; charset=utf-8", HEADERS)

    return answer
