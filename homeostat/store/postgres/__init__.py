"""The store on PostgreSQL: any number of replicas on one database."""

from homeostat.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
