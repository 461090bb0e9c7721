"""A plugin of Homeostat that keeps roles of a PostgreSQL server."""
