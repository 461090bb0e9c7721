"""Contracts as data: parse, validate, compare, pack and lock them, and check a workload against one. Pure."""
