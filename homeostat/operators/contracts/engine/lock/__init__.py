"""`pacto.lock`: what the references of a contract resolved to, written down and compared. Pure."""
