"""HTTP faces of the operator that keeps REST APIs equal to files."""
