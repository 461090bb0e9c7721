"""Services as people see them: each with its state, its dependents, its versions and what is wrong with it. Pure."""
