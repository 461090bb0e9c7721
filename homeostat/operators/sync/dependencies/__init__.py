"""The controllers of what a SyncPolicy refers to: repositories, servers, secret stores; and of webhooks."""
