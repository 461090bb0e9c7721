"""What the subresources of a Pod may change of it: `ephemeralcontainers` adds, `resize` sets resources. Pure.

The rules of Pods are imported by the first such write.
"""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.defaults.qos import qos_class
from homeostat.server.kinds.builtins.immutable.equality import is_same
from homeostat.server.kinds.builtins.members import items, struct, structs, text

POD_PARTS = frozenset({"binding", "ephemeralcontainers", "resize"})
_RESIZED = ("resources", "resizePolicy")
_LISTS = ("containers", "initContainers")
_RESIZABLE = ("cpu", "memory")


def take_part(subresource: str, new: JsonObject, old: JsonObject) -> None:
    """Restore everything but what the subresource may change. In place."""
    if subresource == "binding":
        return
    managed = new["metadata"].get("managedFields")
    spec = dict(struct(old, "spec"))
    asked = struct(new, "spec")
    if subresource == "ephemeralcontainers":
        if items(asked, "ephemeralContainers"):
            spec["ephemeralContainers"] = asked["ephemeralContainers"]
        else:
            spec.pop("ephemeralContainers", None)
    else:
        for name in _LISTS:
            if name in asked:
                spec[name] = _resized(items(asked, name), items(spec, name))
    new.clear()
    new.update(old)
    new["metadata"], new["spec"] = dict(old["metadata"]), spec
    if managed is not None:
        new["metadata"]["managedFields"] = managed


def _resized(asked: list[Json], stored: list[Json]) -> list[Json]:
    """The asked containers, each as it is stored but for its resources."""
    former = {text(each, "name"): each for each in stored if isinstance(each, dict)}
    return [_merged(each, former.get(text(each, "name"))) if isinstance(each, dict) else each for each in asked]


def _merged(asked: JsonObject, stored: JsonObject | None) -> JsonObject:
    if stored is None:
        return asked
    kept = {name: value for name, value in stored.items() if name not in _RESIZED}
    return {**kept, **{name: asked[name] for name in _RESIZED if name in asked}}


def check_part(subresource: str, new: JsonObject, old: JsonObject) -> list[Cause]:
    if subresource == "ephemeralcontainers":
        from homeostat.server.kinds.builtins.checks.pods.pod import check_pod_spec

        return check_pod_spec(struct(new, "spec"), "spec") or _check_added(new, old)
    return _check_resize(new, old) if subresource == "resize" else []


def _check_added(new: JsonObject, old: JsonObject) -> list[Cause]:
    path, causes = "spec.ephemeralContainers", []
    after = {text(each, "name"): each for each in structs(struct(new, "spec"), "ephemeralContainers")}
    for each in structs(struct(old, "spec"), "ephemeralContainers"):
        name = text(each, "name")
        if name not in after:
            causes.append(forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif not is_same(after[name], each):
            causes.append(forbidden(path, f'existing ephemeral containers "{name}" may not be changed\n'))
    return causes


def _check_resize(new: JsonObject, old: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    is_else_changed = False
    if qos_class(new) != qos_class(old):
        message = "Pod QOS Class may not change as a result of resizing"
        causes.append(invalid("spec", struct(new, "status").get("qosClass", ""), message))
    for name in _LISTS:
        path = f"spec.{name}"
        after, before = structs(struct(new, "spec"), name), structs(struct(old, "spec"), name)
        if len(after) != len(before):
            causes.append(forbidden(path, "containers may not be added or removed on resize"))
            continue
        for index, (asked, stored) in enumerate(zip(after, before, strict=True)):
            causes += _check_container(asked, stored, f"{path}[{index}]", is_init=name == "initContainers")
            is_else_changed = is_else_changed or not is_same(_fixed(asked), _fixed(stored))
    if is_else_changed:
        causes.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return causes


def _fixed(container: JsonObject) -> JsonObject:
    """What a resize may not change of a container."""
    resources = struct(container, "resources")
    amounts: JsonObject = {
        kind: {name: value for name, value in struct(resources, kind).items() if name not in _RESIZABLE}
        for kind in ("requests", "limits")
    }
    return {"resizePolicy": items(container, "resizePolicy"), **amounts}


def _check_container(asked: JsonObject, stored: JsonObject, path: str, *, is_init: bool) -> list[Cause]:
    if text(asked, "name") != text(stored, "name"):
        return [forbidden(f"{path}.name", "containers may not be renamed or reordered on resize")]
    resources, former = struct(asked, "resources"), struct(stored, "resources")
    if is_init and text(stored, "restartPolicy") != "Always":
        if is_same(resources, former):
            return []
        return [forbidden(f"{path}.resources", "resources for non-sidecar init containers are immutable")]
    from homeostat.server.kinds.builtins.checks.pods.container import check_resize_policies
    from homeostat.server.kinds.builtins.checks.pods.resources import check_resources

    causes = check_resources(resources, f"{path}.resources") + check_resize_policies(asked, path)
    for kind in ("requests", "limits"):
        amounts, had = struct(resources, kind), struct(former, kind)
        if any(name in had and name not in amounts for name in _RESIZABLE):
            causes.append(forbidden(f"{path}.resources.{kind}", f"resource {kind} cannot be removed"))
    return causes
