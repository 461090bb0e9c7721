"""What runs in the cluster, and the Secrets of registries: read from caches."""
