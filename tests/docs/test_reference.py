"""The reference is complete and as the code is: whatever the code has stands in the docs."""

from dataclasses import dataclass
from enum import StrEnum

import pytest
from docs.generators import commands_page, registry_page, routes_page, words_page
from docs.generators.__main__ import FOLDER, PAGES
from docs.generators.explained import Unexplained, check_explained, meanings_of
from tests.docs.blocks import HOUSE

from rumor_server.http.prometheus import FAMILIES
from rumor_server.settings import table
from rumor_shared.mechanisms.table import BUILT_IN

# Bounds and defaults that say nothing of one field.
_TABLES = {"registry", "metrics"}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_what_the_code_says(name: str) -> None:
    """The committed page equals the one made now; else run `python -m docs.generators`."""
    assert (FOLDER / name).read_text("utf-8") == PAGES[name]()


def test_every_field_of_a_registry_is_explained() -> None:
    """Each key that a reader's source asks for has a meaning, also where no sample leads to it."""
    explained = {
        *registry_page.REGISTRY,
        *registry_page.METRIC,
        *registry_page.MECHANISMS,
    }
    assert registry_page.keys_in_source() - _TABLES == explained


def test_every_mechanism_is_on_the_registry_page() -> None:
    """Each name that a registry may give as mechanism has its fields on the page."""
    page = (FOLDER / "registry.md").read_text("utf-8")
    for name in BUILT_IN:
        assert f"`{name}`" in page


def test_every_command_is_on_its_page() -> None:
    """Each declared command has a heading."""
    page = (FOLDER / "commands.md").read_text("utf-8")
    for name in commands_page.entry_points():
        assert f"## `rumor {name}`" in page


def test_every_name_for_prometheus_is_documented() -> None:
    """Each name of `/metrics` stands on its page."""
    page = (FOLDER / "prometheus.md").read_text("utf-8")
    assert {name for name in FAMILIES if f"`{name}`" not in page} == set()


def test_every_setting_is_documented() -> None:
    """Each setting of the collector stands on the page of settings."""
    page = (HOUSE / "docs" / "settings.md").read_text("utf-8")
    assert {name for name in table() if f"`{name}`" not in page} == set()


def test_glossary_has_the_words_of_the_wire() -> None:
    """Each list of words that the code can say is explained on the page of words."""
    page = (FOLDER / "words.md").read_text("utf-8")
    for words in words_page.WORDS:
        assert f"## {words.title}\n" in page
        assert {word for word in words.found if f"`{word}`" not in page} == set()


@pytest.mark.parametrize(
    ("found", "explanations"),
    [(["a", "b"], {"a": "is"}), (["a"], {"a": "is", "b": "was"})],
)
def test_what_is_unexplained_fails(found: list[str], explanations: dict[str, str]) -> None:
    """A name without an explanation fails, and so does an explanation without its name."""
    with pytest.raises(Unexplained) as caught:
        check_explained("list", found, explanations)
    assert [*caught.value.missing, *caught.value.left_over] == ["b"]


def test_hidden_routes_are_found() -> None:
    """Routes that OpenAPI leaves out are told apart from those that it has."""
    document, hidden = routes_page.described()
    assert {"GET /", "GET /docs"} <= hidden
    assert not {route.split()[1] for route in hidden} & set(document["paths"])


class _Members(StrEnum):
    ONE = "one"
    """The first
    of them."""
    TWO = "two"
    SILENT = "silent"


@dataclass
class _Fields:
    a: int
    """What a is."""
    b: int = 0

    def c(self) -> int:
        """A method is no field."""
        return self.a


def test_meanings_stand_below_members_and_fields() -> None:
    """The docstring below a member or a field is its meaning, on one line; others have none."""
    assert meanings_of(_Members) == {"one": "The first of them."}
    assert meanings_of(_Fields) == {"a": "What a is."}
