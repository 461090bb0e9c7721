"""Annotations, image references and edits of manifests, as pure functions."""
