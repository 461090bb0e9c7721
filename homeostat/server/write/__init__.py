"""The only way to write an object to the store: every mutating verb and subresource uses `create` or `change`."""
