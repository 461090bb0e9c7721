"""What a process sees of itself, as JSON: for tests of how it is started. Reads its input to the end first."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

from homeostat.runtime.leader import unique_identity

if __name__ == "__main__":
    facts = {
        "arguments": sys.argv[1:],
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "input": sys.stdin.read(),
        "parent": os.getppid(),
        "descriptors": sorted(int(each.name) for each in Path("/proc/self/fd").iterdir() if each.exists()),
        "command": Path("/proc/self/cmdline").read_text(),
        "random": random.random(),
        "identity": unique_identity(),
    }
    sys.stdout.write(json.dumps(facts))
    sys.exit("ended")
