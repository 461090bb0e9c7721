"""Files that plugins generate from a contract."""
