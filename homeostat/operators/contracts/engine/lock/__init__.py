"""`pacto.lock`: records what the references of a contract resolve to, and detects drift. Pure."""
