"""The OpenAPI document says what the collector does."""

import re
from typing import Any, cast

import pytest
from tests.server.collecting import Collector, batch, report

from rumor_server.app import Collector as App


@pytest.fixture
def document(running: Collector) -> dict[str, Any]:
    """The document, as served."""
    served = running.client.get("/openapi.json").json()
    assert served == cast(App, running.client.app).openapi()
    return cast(dict[str, Any], served)


def resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference to where it leads."""
    while "$ref" in schema:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        schema = document["components"]["schemas"][name]
    return schema


def test_describes_the_batch_as_it_is_decoded(document: dict[str, Any]) -> None:
    """The body of `POST /v1/reports` has exactly the fields, types and bounds of the decoder."""
    post = document["paths"]["/v1/reports"]["post"]
    content = post["requestBody"]["content"]
    assert sorted(content) == ["application/json", "application/vnd.msgpack"]
    sent = batch(report())
    schema = resolve(document, content["application/json"]["schema"])
    assert schema["additionalProperties"] is False
    assert sorted(schema["required"]) == sorted(schema["properties"]) == sorted(sent)
    assert schema["properties"]["reports"]["maxItems"] == 500
    one = resolve(document, schema["properties"]["reports"]["items"])
    assert one["additionalProperties"] is False
    assert sorted(one["required"]) == sorted(one["properties"]) == sorted(sent["reports"][0])
    assert one["properties"]["revision"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 2**31 - 1,
    }
    for name in ("sdk", "day"):
        assert re.fullmatch(schema["properties"][name]["pattern"], sent[name])


def test_describes_the_answer_as_it_is_sent(document: dict[str, Any], running: Collector) -> None:
    """The fields of an answer are those of its schema."""
    post = document["paths"]["/v1/reports"]["post"]
    schema = resolve(document, post["responses"]["200"]["content"]["application/json"]["schema"])
    (result,) = running.send(batch(report()))
    assert sorted(schema["properties"]) == ["results", "server_day"]
    one = resolve(document, schema["properties"]["results"]["items"])
    assert sorted(one["properties"]) == sorted(result)


def test_describes_every_error_as_a_problem(document: dict[str, Any]) -> None:
    """Each error of each route refers to the one problem schema; 422 is never promised."""
    assert len(document["paths"]) >= 7
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["summary"]
            errors = {k: v for k, v in operation["responses"].items() if k >= "4"}
            assert errors
            assert "422" not in errors
            for error in errors.values():
                (reference,) = error["content"].values()
                assert reference["schema"] == {"$ref": "#/components/schemas/Problem"}
                assert "application/problem+json" in error["content"]


def test_refers_to_nothing_that_is_missing(document: dict[str, Any]) -> None:
    """Every reference leads somewhere."""
    for name in re.findall(r"#/components/schemas/(\w+)", str(document)):
        assert name in document["components"]["schemas"]


def test_loads_nothing_from_elsewhere(running: Collector) -> None:
    """No page of the collector brings scripts of a third party to its reader."""
    page = running.client.get("/docs").text
    for path in cast(App, running.client.app).openapi()["paths"]:
        assert path in page
    assert re.findall(r'(?:src|href)="([^"]+)', page) == ["/openapi.json"]
    assert "<script" not in page
    assert running.client.get("/redoc").status_code == 404
