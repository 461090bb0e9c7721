"""Admission webhooks of the REST API: asked before a resource is written, and free to change or refuse it."""
