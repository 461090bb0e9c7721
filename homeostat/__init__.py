"""Keeps what runs equal to what was declared, with a Kubernetes cluster or without one."""

__version__ = "0.1.0"
