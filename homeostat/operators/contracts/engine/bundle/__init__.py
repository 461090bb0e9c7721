"""Bundles: which files belong to one, and how they are packed, unpacked and identified. Pure."""
