"""Reports of findings in several output formats. `report` has the values; each other module writes one format. All are
pure, and all escape the names and messages that they print.
"""
