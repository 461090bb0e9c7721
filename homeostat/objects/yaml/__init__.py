"""YAML in kubectl's dialect: `reader` and `printer`, and what they share."""

from typing import TYPE_CHECKING, Any

from homeostat.objects.yaml.printer import dump, dump_all

if TYPE_CHECKING:
    from homeostat.objects.yaml.reader import MAX_BYTES, YamlError, load, load_all, load_located

__all__ = ["MAX_BYTES", "YamlError", "dump", "dump_all", "load", "load_all", "load_located"]


def __getattr__(name: str) -> Any:
    """Imports the reader, and PyYAML with it, when it is first used: a plane writes a kubeconfig and reads none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from homeostat.objects.yaml import reader

    return getattr(reader, name)
