"""`homeostat top`: what Nodes and Pods use."""
