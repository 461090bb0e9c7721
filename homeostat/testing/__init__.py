"""The stable public API for tests of operators and plugins: a real plane, and checks of it.

from homeostat.testing import check_status, condition_of, eventually, open_test_plane
"""

from homeostat.testing.clock import virtual_time
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.testing.served import Kubernetes, ServedPlane, served_plane
from homeostat.testing.status import check_status, condition_of
from homeostat.testing.workloads import Workloads, simulated_workloads

__all__ = [
    "Kubernetes",
    "ServedPlane",
    "Workloads",
    "check_status",
    "condition_of",
    "eventually",
    "open_test_plane",
    "served_plane",
    "simulated_workloads",
    "virtual_time",
]
