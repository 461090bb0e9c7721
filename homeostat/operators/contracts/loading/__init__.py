"""Contracts from registries and from inline text, loaded outside of reconciliations."""
