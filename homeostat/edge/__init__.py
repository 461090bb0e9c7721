"""HTTP/1.1 for everything that listens: the plane, the faces, health and metrics.

A protocol on httptools rather than a framework, because a watch must cost one `transport.write` an event, a read must
cost no task, and the client's certificate must reach whoever authenticates. It knows nothing of Kubernetes: a
`Handler` turns a `Request` into a `Reply` or a `StreamReply`, and `refuse` words the errors that happen before a
handler is reached.
"""
