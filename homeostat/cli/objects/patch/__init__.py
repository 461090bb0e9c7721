"""Commands that change single fields of objects."""
