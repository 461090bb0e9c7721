"""HTTP/1.1 for everything that listens: the plane, the faces, health and metrics.

It is a protocol on httptools and not a framework for three reasons: a watch event costs one `transport.write`, a read
costs no task, and authentication sees the client's certificate. The package knows nothing of Kubernetes: a `Handler`
turns a `Request` into a `Reply` or a `StreamReply`, and `refuse` formats the errors that occur before the handler is
called.
"""
