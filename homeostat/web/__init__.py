"""HTTP faces: small web apps over a `Client`, which serve the same on the embedded plane and beside a cluster."""
