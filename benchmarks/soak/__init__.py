"""A plane under mixed load with hostile clients: `python -m benchmarks soak`.

Honest writers and watchers work on a plane while one attack after the other runs from a process of its own. The soak
checks five bounds: memory stays flat, no turn of the event loop computes for long, `/readyz` on another connection
answers in time, no acknowledged write is lost, and no watch has a gap. It prints a table and fails if a bound is
broken.
"""
