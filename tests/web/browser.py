"""Chromium, for tests that read pages as people do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

from tools.fetch_browser import browser_environment, find_browser

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    found = find_browser()
    async with async_playwright() as program:
        browser = await program.chromium.launch(executable_path=found, args=FLAGS, env={**browser_environment()})
        yield browser
        await browser.close()
