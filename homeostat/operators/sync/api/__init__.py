"""The kinds of the operator, as the original names them, and the record that it keeps of what it created."""
