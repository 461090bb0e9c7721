"""LIST: the state of a scope at a revision, at once or in pages of the same snapshot.

A page has at most as many objects as the client asks for, and fewer if they are large: the client decodes a page at
once, and so it must not become larger because of what others store.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat.objects.errors import BadRequestError, ExpiredError
from homeostat.objects.json import encode
from homeostat.server.request.call import Answer, Call
from homeostat.server.view.encode import list_metadata
from homeostat.server.view.listing import list_reply
from homeostat.server.view.selection import Selection, selection_of
from homeostat.server.view.versions import await_version, reach, refuse_wrong_match, version_number
from homeostat.server.view.view import view_of
from homeostat.store.base import CompactedError, Page, Record

LARGEST_PAGE_BYTES: Final = 8 * 1024 * 1024
"""Of the stored objects; the first one is in the page in any case."""
_LATEST = -1
"""In a token: continue with the newest state, because the first page's snapshot is compacted."""


class Continue(msgspec.Struct, frozen=True):
    """A continue token: the next page begins after (namespace, name) in the snapshot of a revision."""

    rv: int
    after: tuple[str, str]


_tokens = msgspec.json.Decoder(Continue)


def encode_token(token: Continue) -> str:
    return urlsafe_b64encode(encode(token)).decode().rstrip("=")


def decode_token(text: str) -> Continue:
    try:
        return _tokens.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, msgspec.DecodeError) as error:
        raise _not_ours() from error


def _not_ours() -> BadRequestError:
    return BadRequestError("continue key is not valid: this server did not issue it")


async def list_objects(call: Call) -> Answer:
    refuse_wrong_match(call)
    selection = selection_of(call)
    page = await page_of(call, selection)
    # Kubernetes answers version 0 from its cache, which has no pages.
    if call.options.limit and (call.options.continue_token or call.options.resource_version != "0"):
        page = _bounded(page)
    token = ""
    if page.remaining:
        last = page.records[-1].key
        token = encode_token(Continue(page.revision, (last.namespace, last.name)))
    metadata = list_metadata(page.revision, token, page.remaining if selection.is_all else 0)
    # A selector was compared with the objects as they are shown.
    records = await call.show_all(page.records) if selection.is_all else page.records
    return await list_reply(call, view_of(call), records, metadata)


async def page_of(call: Call, selection: Selection) -> Page:
    """The objects that the parameters select: version, limit and continue token."""
    options = call.options
    if options.continue_token:
        return await _next_page(call, selection)
    asked = version_number(options.resource_version)
    is_exact = options.resource_version_match == "Exact" or (
        options.limit and asked and not options.resource_version_match
    )
    if is_exact:
        await reach(call, asked)
        return await _snapshot(call, selection, at=asked, after=None)
    await await_version(call)
    return await _newest(call, selection, limit=0 if options.resource_version == "0" else options.limit)


async def _newest(call: Call, selection: Selection, *, limit: int, after: tuple[str, str] | None = None) -> Page:
    """The current state, from the object after (namespace, name) `after`."""
    records, revision = call.store.select(selection.scope), call.store.revision
    if not selection.is_all:
        records = await selection.pick(await call.show_all(records), call.user.name)
    if after is not None:
        records = [record for record in records if (record.key.namespace, record.key.name) > after]
    return _cut(records, revision, limit)


async def _next_page(call: Call, selection: Selection) -> Page:
    if call.options.resource_version not in {"", "0"}:
        raise BadRequestError("specifying resource version is not allowed when using continue")
    token = decode_token(call.options.continue_token)
    if token.rv > call.store.revision:
        await call.store.sync()
        if token.rv > call.store.revision:
            raise _not_ours()
    if token.rv != _LATEST:
        return await _snapshot(call, selection, at=token.rv, after=token.after)
    await call.store.sync()
    return await _newest(call, selection, limit=call.options.limit, after=token.after)


async def _snapshot(call: Call, selection: Selection, *, at: int, after: tuple[str, str] | None) -> Page:
    limit = call.options.limit
    try:
        page = await call.store.page(selection.scope, at=at, after=after, limit=limit if selection.is_all else 0)
    except CompactedError as error:
        if after is None:
            raise ExpiredError(f"the resourceVersion of the list is too old: {error}") from error
        raise ExpiredError(
            f"the continue token is too old for a consistent list: {error}; restart the list, or continue with "
            f"the token in this response, which may show changes since the first page",
            continue_token=encode_token(Continue(_LATEST, after)),
        ) from error
    if selection.is_all:
        return page
    return _cut(await selection.pick(await call.show_all(page.records), call.user.name), page.revision, limit)


def _cut(records: Sequence[Record], revision: int, limit: int) -> Page:
    if 0 < limit < len(records):
        return Page(records[:limit], revision, len(records) - limit)
    return Page(records, revision, 0)


def _bounded(page: Page) -> Page:
    """The beginning of the page, if the whole is too large."""
    size = 0
    for at, record in enumerate(page.records):
        size += len(record.value)
        if size > LARGEST_PAGE_BYTES and at:
            return Page(page.records[:at], page.revision, page.remaining + len(page.records) - at)
    return page
