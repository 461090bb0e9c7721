"""Reports of passes: Events and records of workloads, statuses of commits, notifications."""
