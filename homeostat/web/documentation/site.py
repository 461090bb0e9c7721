"""The documentation of a contract as a set of pages: an overview, the contract itself, and one page an interface."""

from __future__ import annotations

import re
from datetime import date
from typing import Final
from urllib.parse import quote

from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.document.contract import Interface
from homeostat.operators.contracts.engine.files import CONTRACT_FILE
from homeostat.operators.contracts.engine.graph.graph import Graph
from homeostat.operators.contracts.engine.openapi.operation import Api, read_api
from homeostat.web.dashboard.html.markup import el
from homeostat.web.documentation.frame import Link, page
from homeostat.web.documentation.operations import interface_content
from homeostat.web.documentation.overview import overview_content

INDEX: Final = "index.html"
_other_characters = re.compile(r"[^a-z0-9]+").sub


def render_site(bundle: Bundle, graph: Graph, today: date, *, target: str = "") -> dict[str, bytes]:
    """Return the pages by file name. `target` is the base URL of example calls; by default the document's server, or a
    host with the name of the service.
    """
    service = bundle.contract.service
    apis = _apis(bundle)
    files = _file_names(list(apis))
    pages: list[Link] = [(f"{name} API", quote(files[name])) for name in apis]
    pages.append(("Contract", "contract.html"))
    brand = (f"{service.name} {service.version}", INDEX)
    content, sections = overview_content(bundle, graph, today, {name: quote(path) for name, path in files.items()})
    found = {INDEX: page(brand[0], content, brand=brand, pages=pages, sections=sections)}
    for name, (interface, api) in apis.items():
        content, sections = interface_content(interface, api, target=target or base_url(bundle, interface, api))
        found[files[name]] = page(f"{name} · {brand[0]}", content, brand=brand, pages=pages, sections=sections)
    text = bundle.files.get(CONTRACT_FILE, b"").decode(errors="replace")
    source = [el("h1", CONTRACT_FILE), el("pre", text)]
    found["contract.html"] = page(f"Contract · {brand[0]}", source, brand=brand, pages=pages)
    return found


def render_interface(bundle: Bundle, name: str, *, target: str = "") -> bytes | None:
    """Return the page of one interface; None if it has no OpenAPI document."""
    found = _apis(bundle).get(name)
    if found is None:
        return None
    content, sections = interface_content(*found, target=target or base_url(bundle, *found))
    service = bundle.contract.service
    return page(
        f"{name} · {service.name}", content, brand=(f"{service.name} {service.version}", "/"), sections=sections
    )


def api_names(bundle: Bundle) -> list[str]:
    """Return the interfaces that have an OpenAPI document."""
    return list(_apis(bundle))


def base_url(bundle: Bundle, interface: Interface, api: Api) -> str:
    absolute = next((each for each in api.servers if each.startswith(("http://", "https://"))), "")
    port = f":{interface.port}" if interface.port not in (None, 80) else ""
    return absolute or f"http://{bundle.contract.service.name}{port}"


def _apis(bundle: Bundle) -> dict[str, tuple[Interface, Api]]:
    found = {}
    for each in bundle.contract.interfaces:
        api = read_api(bundle.files, each.contract) if each.contract and each.type == "http" else None
        if api is not None:
            found[each.name] = (each, api)
    return found


def _file_names(names: list[str]) -> dict[str, str]:
    """A name of an interface may hold anything; its file name is plain and unique."""
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        plain = _other_characters("-", name.lower()).strip("-") or "interface"
        path = f"interface-{plain}.html"
        found[name] = path if path not in found.values() else f"interface-{plain}-{place}.html"
    return found
