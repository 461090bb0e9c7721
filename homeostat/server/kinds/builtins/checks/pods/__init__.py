"""Validation of Pods: one module a part of their spec."""
