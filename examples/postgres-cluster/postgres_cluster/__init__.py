"""Keeps PostgreSQL clusters by three other plugins: infrastructure, configuration, health."""
