"""The pictures show what the code does."""

from math import exp
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.docs.blocks import HOUSE

from docs_figures import days, many_reports, mechanisms, one_report
from docs_figures.__main__ import PICTURES, main
from docs_figures.theme import SHARES, THEME
from rumor_shared.epsilon import MICRO

FOLDER = HOUSE / "docs" / "pictures"
# The crowd's seed is fixed; with another, one of 12 estimates is this far off with 7e-9.
FAR = 6.5


def test_each_picture_is_committed_and_shown() -> None:
    """The folder has exactly the pictures that are drawn, and each stands on a page."""
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(PICTURES)
    pages = "".join(page.read_text("utf-8") for page in (HOUSE / "docs").rglob("*.md"))
    for name in PICTURES:
        assert f"pictures/{name}.svg" in pages


def test_picture_is_a_whole_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A picture that is named is written, as SVG that loads nothing from elsewhere."""
    assert main([str(tmp_path), "one-report"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["one-report.svg"]
    assert capsys.readouterr().out.strip().endswith("one-report.svg")
    for element in ElementTree.parse(tmp_path / "one-report.svg").iter():  # noqa: S314 - our own
        for name, value in element.attrib.items():
            assert not (name.endswith("href") and "://" in value)


def test_unknown_picture_is_a_wrong_call(tmp_path: Path) -> None:
    """A name that is no picture's exits with 2."""
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), "nothing"])
    assert ended.value.code == 2


def test_laws_of_one_report_keep_epsilon() -> None:
    """Both laws are laws, and no bar is more than e^epsilon times the one beside it."""
    first, second = (one_report.law(THEME, held) for held in one_report.HELD)
    assert sum(first.values()) == pytest.approx(1)
    assert sum(second.values()) == pytest.approx(1)
    bound = exp(THEME.mechanism.epsilon_report / MICRO)
    assert max(first[v] / second[v] for v in first) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("devices", many_reports.DEVICES[:2])
def test_many_reports_are_near_the_truth(devices: int) -> None:
    """Each estimate of the picture is within 6.5 standard errors of the share it was drawn from."""
    found = many_reports.estimate(devices)
    sampling = 0.5 / devices**0.5
    for share, estimate, error in zip(
        SHARES.values(), found.frequency, found.std_error, strict=True
    ):
        assert abs(estimate - share) < FAR * (error**2 + sampling**2) ** 0.5


def test_more_epsilon_is_more_exact() -> None:
    """Along each curve of the mechanisms the standard deviation falls."""
    for errors in mechanisms.deviations().values():
        curve = [errors[epsilon] for epsilon in sorted(errors)]
        assert curve == sorted(curve, reverse=True)


def test_readme_tells_the_picture_of_mechanisms() -> None:
    """The error that README names as a limit is that of the best mechanism on the picture."""
    best = min(errors[1] for errors in mechanisms.deviations().values())
    readme = (HOUSE / "README.md").read_text("utf-8")
    assert f"{mechanisms.VALUES} values, {mechanisms.DEVICES:,} devices" in " ".join(readme.split())
    assert f"about {best:.1%}" in readme


def test_memoised_answers_stop_costing() -> None:
    """Fresh noise is charged every day; a memoised metric costs no more after its last value."""
    fresh, kept = days.costs("fresh"), days.costs("kept")
    assert fresh[-1] == pytest.approx(days.DAYS * fresh[0])
    assert kept[-1] == kept[1] < fresh[-1]
