"""A plane to look around in: everything that `homeostat demo` runs, on this machine and in one directory."""
