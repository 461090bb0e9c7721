"""Service contracts: does what runs match what its contract declares?"""
