"""The pages of the API, one module a group of routes."""
