"""Checks of writes to the kinds of the operator, before they are stored."""
