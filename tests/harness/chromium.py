"""Debian's Chromium, run by Playwright: what a page says, asks of other hosts, and complains of."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, sync_playwright

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
# A container has no sandbox of its own to make; the others keep the browser from calling home.
_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# WCAG 2.2 at level AA, and axe's own good practice.
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# A page whose list has to be decoded first takes seconds on a busy machine.
_PATIENCE_MS = 120_000

Scheme = Literal["light", "dark"]


@dataclass
class Visit:
    """One page that is looked at, and all it did."""

    page: Page
    hosts: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)

    def open(self, address: str) -> None:
        """Go to an address, which must be answered with 200."""
        answer = self.page.goto(address)
        assert answer is not None
        assert answer.status == 200, address

    def number(self, selector: str) -> float:
        """Return the number that an element of the page stands for; its text must agree with it."""
        element = self.page.locator(selector).locator("data").first
        number = float(element.get_attribute("value") or "nan")
        said = re.sub(r"[,%]", "", element.inner_text()).replace("−", "-")
        decimals = len(said.partition(".")[2])
        unit = 1.0 if decimals == 0 and number == float(said) else 100.0
        assert abs(number * unit - float(said)) <= 0.5001 * 10.0**-decimals, (number, said)
        return number

    def accessibility(self) -> list[str]:
        """Return what axe finds wrong with the page, by rule and element."""
        found = Axe().run(self.page, options={"runOnly": {"type": "tag", "values": _RULES}})
        return [
            f"{one['id']}: {node['target']}: {node.get('failureSummary')}"
            for one in found.response["violations"]
            for node in one["nodes"]
        ]

    def overflows(self) -> bool:
        """Return whether the page is wider than its window."""
        wide: bool = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return wide


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the browser; without one the test is skipped, but not in CI."""
    if not os.path.exists(CHROMIUM) and not os.environ.get("CI"):  # noqa: PTH110 - a name on the path
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(
    browser: Browser, *, width: int = 1280, height: int = 900, scheme: Scheme = "light"
) -> Iterator[Visit]:
    """Open a window that remembers nothing of others."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
    )
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    visited = Visit(page)

    def note(request: Request) -> None:
        visited.hosts.add(urlsplit(request.url).netloc)

    page.on("request", note)
    page.on("console", lambda message: visited.complaints.append(message.text))
    page.on("pageerror", lambda error: visited.complaints.append(str(error)))
    try:
        yield visited
    finally:
        context.close()
