"""Notifications of registries, one module a sender."""
