"""How fast the plane is, how much it takes, and how that compares with a real kube-apiserver.

`python -m benchmarks` starts a plane of its own (TLS, fsync on), loads it phase by phase from this machine and prints
one table. Figures are ratios against a reference kept as data, and a phase during which others used the machine says
so. Nothing here is a test: a slow machine fails nothing.
"""
