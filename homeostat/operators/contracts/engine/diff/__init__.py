"""The differences between two contracts, each classified by whether it can break a consumer. Pure."""
