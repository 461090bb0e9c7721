"""The YAML of a contract: its dialect, its typed model and the overrides of a command line. Pure."""
