"""The graph of a contract's dependencies: resolved, shown, and compared with another. Pure."""
