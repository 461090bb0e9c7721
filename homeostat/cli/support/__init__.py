"""Collects what somebody needs to help with a problem, without secrets."""
