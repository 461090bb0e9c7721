"""A REST API that is kept equal to files in Git: paths, metadata and payloads in, requests out."""
