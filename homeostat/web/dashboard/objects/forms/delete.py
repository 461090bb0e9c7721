"""`.../delete`: deletes an object after a page that asks for it; the object that was shown and no later one."""

from __future__ import annotations

from typing import Final

from homeostat.client.base import Client
from homeostat.objects.errors import ConflictError, ForbiddenError, NotFoundError
from homeostat.web.dashboard.form import read_form
from homeostat.web.dashboard.html.components import facts, moment
from homeostat.web.dashboard.html.layout import Page, proof_field
from homeostat.web.dashboard.html.markup import el
from homeostat.web.dashboard.objects.access import may
from homeostat.web.dashboard.objects.commands import command_lines, on_object
from homeostat.web.dashboard.objects.family.family import Family
from homeostat.web.dashboard.objects.index import TITLE
from homeostat.web.dashboard.objects.kinds import ServedKinds, kind_path
from homeostat.web.dashboard.objects.object import Place, crumbs, place_of
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.refusal import RefusalError, forbidden

_POLICIES: Final = {
    "Background": "Delete it now, its dependents afterwards",
    "Foreground": "Delete its dependents first",
    "Orphan": "Keep its dependents",
}


class DeletePage:
    def __init__(self, client: Client, kinds: ServedKinds) -> None:
        self._client, self._kinds, self._family = client, kinds, Family(kinds)

    async def show(self, visit: Visit) -> Page:
        place = await place_of(visit, self._client, self._kinds)
        await _check(place)
        obj = await place.read()
        metadata = obj["metadata"]
        options = [el("option", text, value=policy) for policy, text in _POLICIES.items()]
        form = el(
            "form",
            proof_field(visit.viewer.proof),
            el("input", type="hidden", name="uid", value=str(metadata.get("uid", ""))),
            el(
                "div",
                el("label", "Dependents", for_="propagation"),
                el("select", options, id="propagation", name="propagation"),
                class_="field",
            ),
            el(
                "p",
                el("button", f"Delete {place.name}", type="submit", class_="danger"),
                " ",
                el("a", "Cancel", href=place.page(), class_="clear"),
            ),
            method="post",
            action=place.page("delete"),
            class_="confirm",
        )
        about = facts(
            ("Kind", f"{place.kind.kind} ({place.kind.api_version})"),
            ("Namespace", place.namespace),
            ("Created", moment(metadata.get("creationTimestamp"))),
            ("Finalizers", ", ".join(map(str, metadata.get("finalizers") or ()))),
        )
        commands = command_lines(on_object("delete", place.kind, place.namespace, place.name))
        head = el("div", el("h1", f"Delete {place.name}?"), commands, class_="title")
        family = await self._family.show(place.client, place.kind, obj)
        content = [crumbs(place, is_object_linked=True), head, about, family, form]
        return Page(f"Delete {place.name}", content, TITLE, is_live=False)

    async def take(self, visit: Visit) -> str:
        place = await place_of(visit, self._client, self._kinds)
        await _check(place)
        form = read_form(visit.request)
        policy = form.get("propagation", "Background")
        if policy not in _POLICIES:
            raise RefusalError(422, f"{policy} is not a propagation policy; expected one of {', '.join(_POLICIES)}")
        options = {"propagationPolicy": policy, "preconditions": {"uid": form.get("uid", "")}}
        try:
            await place.client.delete(place.path, options)
        except NotFoundError:
            # Somebody else was faster: it is gone, as requested.
            pass
        except ForbiddenError as error:
            raise forbidden(error.message) from error
        except ConflictError as error:
            message = f"Another {place.kind.kind} has this name now; open its page and try again."
            raise RefusalError(409, message) from error
        return kind_path(place.kind, namespace=place.namespace, version=place.version)


async def _check(place: Place) -> None:
    if not await may(place.client, "delete", place.kind, place.namespace, place.name):
        raise forbidden(f"You are not allowed to delete the {place.kind.kind} {place.title}.")
