"""PactoRevisions: which to create, and which to delete."""
