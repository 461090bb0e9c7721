"""Marks of tests that need a program which `make test` does not bring; each says what does."""

from __future__ import annotations

import shutil

import pytest

needs_terraform = pytest.mark.skipif(
    shutil.which("terraform") is None, reason="no terraform: put one on PATH; see developer.hashicorp.com/terraform"
)
needs_curl_and_jq = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("jq")), reason="no curl or no jq: apt-get install curl jq"
)
