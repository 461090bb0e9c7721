"""The ranges of `objects/versions`, which select the versions of contracts. Pure."""

from homeostat.objects.versions.constraint import Constraint, InvalidConstraintError, best_tag, parse_constraint

__all__ = ["Constraint", "InvalidConstraintError", "best_tag", "parse_constraint"]
