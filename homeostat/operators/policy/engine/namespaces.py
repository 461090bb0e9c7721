"""System namespaces, which are never evaluated and never changed. Pure."""

from __future__ import annotations

from homeostat.objects.memory.cache import cached

_NAMED = frozenset({"cert-manager", "monitoring", "observability", "argocd"})


@cached(4096)
def is_system(namespace: str) -> bool:
    return namespace.startswith("kube-") or namespace.endswith("-system") or namespace in _NAMED
