"""YAML in kubectl's dialect: `reader` and `dump`, and what they share."""

from homeostat.objects.yaml.reader import MAX_BYTES, YamlError, load, load_all, load_located

__all__ = ["MAX_BYTES", "YamlError", "load", "load_all", "load_located"]
