"""JSON Schemas: those of the contract's versions, and those that bundles bring along. Pure."""
