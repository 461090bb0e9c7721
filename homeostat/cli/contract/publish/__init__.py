"""Bundles in files and registries: pack, push, pull, login, logout."""
