"""The HTTP API of service contracts: services, versions, dependencies and differences, over a `Client`."""
