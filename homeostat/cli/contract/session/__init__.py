"""What every contract command uses: global options, overrides, bundles of directories and registries, results."""
