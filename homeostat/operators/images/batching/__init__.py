"""When passes run, and which Deployments share a pass and a commit."""
