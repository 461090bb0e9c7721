"""A plane under mixed load with hostile clients: `python -m benchmarks soak`.

Honest writers and watchers work on a plane while one attack after the other runs from a process of its own. The soak
checks four bounds: memory stays flat, `/readyz` on another connection answers in time, no acknowledged write is lost,
and no watch has a gap. It prints a table and fails if a bound is broken.
"""
