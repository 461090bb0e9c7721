"""The REST API of resource types and resources over a `Client`; `app.py` puts it together."""
