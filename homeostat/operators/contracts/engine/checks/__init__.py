"""A contract checked against what runs: facts of the cluster in, verdicts and a status out. Pure."""
