"""What all commands of `homeostat sync` share: options, the run, payloads, output."""
