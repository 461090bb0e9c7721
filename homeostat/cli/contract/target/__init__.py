"""The objects that a contract is checked against: in manifests, or in a live cluster."""
