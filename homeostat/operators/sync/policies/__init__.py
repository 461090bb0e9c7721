"""The controller of SyncPolicies: when to sync, and one sync from a pinned commit."""
