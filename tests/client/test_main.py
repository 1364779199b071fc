"""What the owner sees in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.client.test_public import REGISTRY

from rumor_client import Client
from rumor_client.__main__ import main
from rumor_client.testing import FakeCollector


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Arguments that name a registry and a state."""
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    monkeypatch.delenv("RUMOR_CONSENT", raising=False)
    (tmp_path / "metrics.toml").write_text(REGISTRY)
    return ["--registry", str(tmp_path / "metrics.toml"), "--state", str(tmp_path / "state")]


def test_consent_is_shown_granted_and_denied(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each choice is followed, shown with its source, and outdone by the environment."""
    shown = []
    for choice in ("show", "grant", "deny"):
        assert main([*arguments, "consent", choice]) == 0
        shown.append(capsys.readouterr().out)
    assert "unset (from default)" in shown[0]
    assert "granted (from stored, since" in shown[1]
    assert "denied (from stored, since" in shown[2]
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    main([*arguments, "consent", "grant"])
    assert "denied (from DO_NOT_TRACK)" in capsys.readouterr().out


def test_status_and_view_show_what_was_and_will_be_sent(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Spend in plain words, and every report as bytes, sent and waiting."""
    main([*arguments, "consent", "grant"])
    with Client(
        arguments[1],
        "http://collector.invalid",
        state=arguments[3],
        transport=FakeCollector(),
        background=False,
    ) as client:
        assert client.record("theme", "dark").recorded
        report = client.waiting()[0].report
        assert main([*arguments, "view"]) == 0
        shown = capsys.readouterr().out
        assert f"payload  {report.payload.hex()}" in shown
        assert f"says     {client.view()[0].meaning}" in shown
        client.flush()
        main([*arguments, "view"])
        assert "accepted" in capsys.readouterr().out
    assert main([*arguments, "status"]) == 0
    out = capsys.readouterr().out
    assert "spent today    epsilon 1 (cap 1)" in out
    assert "at most a factor of 2.72" in out
    assert "waiting        0 reports" in out


def test_a_wrong_call_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A missing registry, a broken one and an unknown purpose are named, without a traceback."""
    (tmp_path / "broken.toml").write_text("[metrics.theme]")
    for registry in ("missing.toml", "broken.toml"):
        changed = ["--registry", str(tmp_path / registry), *arguments[2:]]
        assert main([*changed, "status"]) == 2
        assert registry in capsys.readouterr().err
    assert main([*arguments, "consent", "grant", "--purpose", "advertising"]) == 2
    assert "product improvement" in capsys.readouterr().err


def test_a_state_that_cant_be_used_exits_with_1(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A place where no file can be is said, without a traceback."""
    (tmp_path / "state").mkdir()
    assert main([*arguments, "consent", "grant"]) == 1
    assert "the state can't be used" in capsys.readouterr().err
