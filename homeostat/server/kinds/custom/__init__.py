"""Custom kinds: what a stored CustomResourceDefinition declares, and how it is served from its commit on."""
