"""python -m benchmarks.sync"""

from __future__ import annotations

import asyncio

from benchmarks.sync import commands, operator

if __name__ == "__main__":
    commands.main()
    asyncio.run(operator.main())
