"""The namespace lifecycle check: no new objects in a namespace that is missing or terminating."""

from __future__ import annotations

import msgspec

from homeostat.objects.errors import Cause, ForbiddenError, NotFoundError
from homeostat.server.request.call import Call
from homeostat.store.base import Key

UNDELETABLE_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})


class _Metadata(msgspec.Struct, gc=False):
    deletionTimestamp: str = ""  # noqa: N815


class _Namespace(msgspec.Struct, gc=False):
    metadata: _Metadata


_namespaces = msgspec.json.Decoder(_Namespace)


def require_namespace(call: Call, name: str) -> None:
    """A new object needs a namespace that exists and is not terminating; 404 or 403 otherwise."""
    if not call.kind.namespaced:
        return
    record = call.store.get(Key("namespaces", "", call.namespace))
    if record is None:
        raise NotFoundError(f'namespaces "{call.namespace}" not found', kind="namespaces", name=call.namespace)
    if b'"deletionTimestamp":' in record.value and _namespaces.decode(record.value).metadata.deletionTimestamp:
        raise ForbiddenError(
            f'{call.kind.group_resource} "{name}" is forbidden: unable to create new content in namespace '
            f"{call.namespace} because it is being terminated",
            kind=call.kind.plural,
            group=call.kind.group,
            name=name,
            causes=[
                Cause("NamespaceTerminating", f"namespace {call.namespace} is being terminated", "metadata.namespace")
            ],
        )
