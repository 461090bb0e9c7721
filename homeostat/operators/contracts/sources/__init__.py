"""Where bundles come from: directories and registries; with a cache, credentials and limits."""
