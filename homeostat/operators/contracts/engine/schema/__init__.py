"""JSON Schemas of contract versions, and of configurations and policies. Pure."""
