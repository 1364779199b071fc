"""The dashboard of a demo server in a real browser: read, filtered, filled in, followed, checked.

Screenshots at phone and desktop width, light and dark, go to `.screenshots`, for a person to look
at.
"""

import csv
import io
import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser
from tests.harness.chromium import Scheme, chromium, visit
from tests.harness.collector_process import RUMOR, STOP_SECONDS

# Whole processes, which take seconds to start.
pytestmark = pytest.mark.slow

SCREENSHOTS = Path(__file__).parents[2] / ".screenshots"
DEVICES = 500
# Some that devices of the demo have, and some that no one has.
CANDIDATES = ["Chrome 135", "Mobile Safari 18", "Chrome Mobile 135", "Edge 135", "Nobody 1", "No 2"]
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
PATHS = {
    "metrics": "/",
    "browser": "/metric/browser",
    "browser-version": "/metric/browser-version",
    "comparison": "/metric/dark-mode?from={today}&compare_from={before}&compare_to={before}",
    "nothing": "/metric/dark-mode?to=2020-01-01",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A demo server that stays up, with few devices; its address."""
    folder = tmp_path_factory.mktemp("demo")
    words = [str(RUMOR), "demo", "--json", "--serve", "--devices", str(DEVICES), "--seed", "5"]
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=errors, cwd=folder, text=True
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (folder / "errors").read_text("utf-8", "replace")
        url: str = json.loads(line)["url"]
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=STOP_SECONDS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests here."""
    with chromium() as running:
        yield running


def api(demo: str, path: str, body: Any = None) -> Any:
    """What the API says."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(demo + path, data, {"Content-Type": "application/json"})  # noqa: S310 - ours
    with urlopen(request, timeout=120) as answer:  # noqa: S310 - ours
        return json.load(answer)


def days(demo: str) -> dict[str, str]:
    """The demo's day, and the one before."""
    today = date.fromisoformat(api(demo, "/v1/metrics")["metrics"][0]["last_day"])
    return {"today": str(today), "before": str(today - timedelta(days=1))}


def test_reads_like_the_api(demo: str, browser: Browser) -> None:
    """The numbers of the page are those of the API; days filter; the CSV link has them all."""
    with visit(browser) as seen:
        page = seen.page
        seen.open(demo)
        page.get_by_role("link", name="operating-system").click()
        page.wait_for_url("**/metric/operating-system")
        expected = api(demo, "/v1/metrics/operating-system/estimates")
        assert seen.number("#n") == expected["n"] == DEVICES
        for row in expected["rows"]:
            shown = page.locator("#values tbody tr").filter(
                has=page.get_by_role("link", name=row["value"], exact=True)
            )
            numbers = shown.locator("data")
            assert float(numbers.nth(0).get_attribute("value") or "") == row["frequency"]
            assert float(numbers.nth(2).get_attribute("value") or "") == row["std_error"]
            present = "yes" if row["significant"] else "not shown"
            assert shown.locator("td").last.inner_text() == present

        with page.expect_download() as download:
            page.locator("#csv").click()
        text = Path(download.value.path()).read_text("utf-8")
        rows = list(csv.DictReader(io.StringIO(text)))
        assert {row["value"]: float(row["frequency"]) for row in rows} == {
            row["value"]: row["frequency"] for row in expected["rows"]
        }

        page.get_by_role("link", name="Value", exact=True).click()
        page.wait_for_url("**?sort=value*")
        first = page.locator("#values tbody th").first.inner_text()
        assert first == min((row["value"] for row in expected["rows"]), key=str.casefold)

        page.get_by_label("To", exact=True).fill(days(demo)["before"])
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(f"**?to={days(demo)['before']}&sort=value")
        assert "No report was counted in this period" in page.locator("#status").inner_text()
        page.get_by_role("link", name="Today").click()
        page.wait_for_url("**?from=*")
        assert seen.number("#n") == DEVICES
        assert seen.complaints == []
        assert seen.hosts == {urlsplit(demo).netloc}


def test_looks_for_candidates(demo: str, browser: Browser, tmp_path: Path) -> None:
    """A file of candidates leads to a permalink that says what the API says of the same list."""
    file = tmp_path / "candidates.txt"
    file.write_text("\n".join(CANDIDATES), "utf-8")
    path = "/v1/metrics/browser-version/estimates"
    expected = api(demo, path, {"candidates": CANDIDATES})
    with visit(browser) as seen:
        page = seen.page
        seen.open(f"{demo}/metric/browser-version")
        page.get_by_label("A text file").set_input_files(file)
        page.get_by_role("button", name="Look for them").click()
        page.wait_for_url("**/metric/browser-version?candidates=*")
        assert "6 candidates" in page.locator("#list").inner_text()
        assert seen.number("#unexplained-share") == expected["unexplained"]
        shown = {
            row.locator("th").inner_text(): float(
                row.locator("data").first.get_attribute("value") or ""
            )
            for row in page.locator("#values tbody tr").all()
        }
        assert shown == {row["value"]: row["frequency"] for row in expected["rows"]}
        address = page.url
        seen.open(address)
        assert seen.number("#unexplained-share") == expected["unexplained"]
        page.get_by_text("Bring another list").click()
        page.get_by_label("Or type them").fill("\n".join(reversed(CANDIDATES)))
        page.get_by_role("button", name="Look for them").click()
        page.wait_for_url(lambda url: "candidates=" in url and url != address)
        assert seen.accessibility() == []
        assert seen.complaints == []
        assert seen.hosts == {urlsplit(demo).netloc}


@pytest.mark.parametrize("scheme", get_args(Scheme))
@pytest.mark.parametrize("size", SIZES)
def test_is_for_everyone(demo: str, browser: Browser, size: str, scheme: Scheme) -> None:
    """On a phone and a desk, in light and dark, pages fit, complain of nothing and pass axe."""
    width, height = SIZES[size]
    with visit(browser, width=width, height=height, scheme=scheme) as seen:
        for name, path in PATHS.items():
            seen.open(demo + path.format(**days(demo)))
            assert not seen.overflows(), name
            assert seen.accessibility() == [], name
            seen.page.screenshot(path=SCREENSHOTS / f"{name}-{size}-{scheme}.png", full_page=True)
        assert seen.complaints == []
        assert seen.hosts == {urlsplit(demo).netloc}


def test_is_worked_by_keyboard(demo: str, browser: Browser) -> None:
    """The first key leads past the head, and a metric is reached and sorted without a mouse."""
    with visit(browser) as seen:
        page = seen.page
        seen.open(demo)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        page.get_by_role("link", name="dark-mode").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/metric/dark-mode")
        page.get_by_role("link", name="Std. error").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**sort=-std_error**")
        assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
        assert seen.complaints == []
