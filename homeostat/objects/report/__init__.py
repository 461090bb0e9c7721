"""What a check found, in the forms that people and programs read. `report` has the values; each other module writes
one form of them. All are pure, and none trusts a name or a message that it prints.
"""
