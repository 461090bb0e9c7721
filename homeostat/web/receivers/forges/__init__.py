"""Push events of forges, one module a forge."""
