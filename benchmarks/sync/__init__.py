"""What `homeostat sync` and the sync operator cost on 10,000 resources.

python -m benchmarks sync
"""
