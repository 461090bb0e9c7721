"""What was found, in the forms that people and programs read. Each module renders one form of a `Report`; all are
pure, and none trusts a name or a message that it prints.
"""
