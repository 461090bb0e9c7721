"""YAML in kubectl's dialect: `reader` and `printer`, and what they share."""

from homeostat.objects.yaml.printer import dump, dump_all
from homeostat.objects.yaml.reader import MAX_BYTES, YamlError, load, load_all, load_located

__all__ = ["MAX_BYTES", "YamlError", "dump", "dump_all", "load", "load_all", "load_located"]
