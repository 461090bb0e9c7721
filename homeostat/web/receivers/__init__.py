"""Webhooks of registries and forges: who sent one, what was pushed, and which objects to reconcile for it."""
