"""Users of the REST API: their roles and permissions, and how they log in."""
