"""Admission webhooks of the REST API: called before a resource is written; they may change or deny the write."""
