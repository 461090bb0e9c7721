"""What a synchronisation means, without I/O: every module here is pure."""
