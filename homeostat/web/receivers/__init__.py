"""Webhooks of registries and forges: who sent one, what was pushed, and which objects are to be reconciled for it."""
