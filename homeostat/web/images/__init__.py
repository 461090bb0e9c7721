"""The HTTP API of image updates: the paths and shapes of gitops-operator."""
