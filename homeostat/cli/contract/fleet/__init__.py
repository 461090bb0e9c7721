"""Many contracts together: those that run in a cluster, or those of a directory."""
