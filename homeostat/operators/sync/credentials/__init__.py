"""From a spec and its Secrets to connections: the Git remote, the managed server, the secret store."""
