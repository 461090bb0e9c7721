"""The address of a document on the command line, its session, and its effective metadata."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from homeostat.cli.sync.console.run import Run, chosen_text
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.metadata.layers import stored_document
from homeostat.operators.sync.engine.paths.selector import Selector, parse_selector
from homeostat.operators.sync.session.session import Session


def chosen_selector(argument: str | None, option: str | None) -> Selector:
    return parse_selector(chosen_text(argument, option))


def document_session(run: Run, selector: Selector) -> AbstractAsyncContextManager[Session]:
    """With what the address needs, which is everything for a pattern; without the server."""
    path = "/" if selector.is_pattern else selector.text
    return run.session(path, is_recursive=selector.is_pattern, connects=False)


def overrides(session: Session, selector: Selector) -> JsonObject:
    """What documents say; for a pattern its own document."""
    if selector.is_pattern:
        found = stored_document(session.root, selector) or {}
        return {key: item for key, item in found.items() if key != "selector"}
    return session.metadata.overrides(selector.text, is_collection=selector.is_collection)
