"""The address of a document on the command line, and its effective metadata."""

from __future__ import annotations

from homeostat.cli.sync.console.run import chosen_text
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.metadata.layers import stored_document
from homeostat.operators.sync.engine.paths.selector import Selector, parse_selector
from homeostat.operators.sync.session.session import Session


def chosen_selector(argument: str | None, option: str | None) -> Selector:
    return parse_selector(chosen_text(argument, option))


def load_path(selector: Selector) -> str:
    """What has to be loaded: everything for a pattern."""
    return "/" if selector.is_pattern else selector.text


def overrides(session: Session, selector: Selector) -> JsonObject:
    """What documents say; for a pattern its own document."""
    if selector.is_pattern:
        found = stored_document(session.root, selector) or {}
        return {key: item for key, item in found.items() if key != "selector"}
    return session.metadata.overrides(selector.text, is_collection=selector.is_collection)
