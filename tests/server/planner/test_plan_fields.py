"""A registry that leaves the mechanism open is settled once, in writing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rumor_server.planner import plan, settle_registry
from rumor_shared.errors import RegistryError
from rumor_shared.registry import parse_registry

HEAD = """\
# who asks what
[registry]
max_age_days = 7  # days

"""
REST = """\
revision = 1
epsilon = {epsilon}
values = [{values}]
owner = "o"
purpose = "p"
expires = 2099-12-31
"""


def metric(name: str, mechanism: str, k: int, epsilon: str = "1.5") -> str:
    """A metric's table."""
    values = ", ".join(f'"v{i}"' for i in range(k))
    rest = REST.format(epsilon=epsilon, values=values)
    return f'[metrics.{name}]\nmechanism = "{mechanism}"\n{rest}\n'


def test_a_registry_that_leaves_it_open_is_refused() -> None:
    """Neither side loads "auto": the error says what to run."""
    with pytest.raises(RegistryError, match="rumor plan --write") as caught:
        parse_registry((HEAD + metric("m", "auto", 3)).encode())
    assert caught.value.problems[0].path == "metrics.m.mechanism"


def test_the_choice_is_written_down() -> None:
    """The name, its parameters and the reason are written; all else stays as it was."""
    text = HEAD + metric("a", "auto", 300) + metric("b", "oue", 4) + "# end\n"
    settled, choices = settle_registry(text)
    chosen = plan([f"v{i}" for i in range(300)], Decimal("1.5")).chosen
    assert [choice.metric for choice in choices] == ["a"]
    registry = parse_registry(settled.encode())
    assert registry.metric("a").mechanism == chosen.mechanism
    assert registry.metric("b").mechanism.name == "oue"
    assert f'mechanism = "{chosen.name}" # chosen by `rumor plan`: {chosen.name} ' in settled
    for field, value in chosen.fields.items():
        assert f"{field} = {value}\n" in settled
    before, after = text.splitlines(), settled.splitlines()
    changed = [line for line in after if line not in before]
    assert len(changed) == 1 + len(chosen.fields)
    assert after[: len(HEAD.splitlines())] == HEAD.splitlines()
    assert after[-1] == "# end"


def test_what_is_settled_stays() -> None:
    """Settling again changes nothing."""
    settled, _ = settle_registry(HEAD + metric("a", "auto", 300))
    again, choices = settle_registry(settled)
    assert again == settled
    assert not choices


def test_epsilon_is_read_as_it_is_written() -> None:
    """Six decimals survive, as in a registry that is loaded."""
    settled, choices = settle_registry(HEAD + metric("a", "auto", 5, "0.123457"))
    assert "epsilon = 0.123457\n" in settled
    assert choices[0].plan.chosen.mechanism.epsilon_report == 123_457


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[metrics.m", "TOML"),
        (metric("m", "auto", 1), r"metrics.m.values: has 1 entries"),
        (metric("m", "auto", 3).replace("values", "vals"), r"metrics.m.values: is missing"),
        (metric("m", "auto", 3, '"one"'), r"metrics.m.epsilon: is text"),
        (metric("m", "auto", 3).replace("owner", "boss"), r"metrics.m.owner: is missing"),
    ],
)
def test_faults_are_told_field_by_field(text: str, problem: str) -> None:
    """A registry with a fault is not settled; the error names the field."""
    with pytest.raises(RegistryError, match=problem):
        settle_registry(text)
