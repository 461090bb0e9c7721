"""Writes the newest image tag of an application into its manifests repository."""
