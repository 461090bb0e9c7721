"""Types of blobs that the package reads whatever their type is."""

from __future__ import annotations

from typing import Final

OCI_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
OCI_EMPTY: Final = "application/vnd.oci.empty.v1+json"
