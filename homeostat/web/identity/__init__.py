"""Users of the REST API, what they may do, and how they prove who they are."""
