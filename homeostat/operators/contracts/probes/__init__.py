"""Requests to the endpoints that contracts declare, outside of reconciliations."""
