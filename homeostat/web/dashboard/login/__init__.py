"""Sign-in to the dashboard: with a token, with a name and a password, or once by the link of a start."""
