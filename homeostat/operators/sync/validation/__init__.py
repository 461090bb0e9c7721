"""Which objects are valid: the same rules for the controllers, the guard of a plane and the admission webhook."""
