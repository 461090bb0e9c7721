"""What the server allocates for Services: cluster addresses and node ports."""
