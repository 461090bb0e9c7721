"""Delivery by pull request: one branch and one request for all changes to a branch of a manifests repository."""
