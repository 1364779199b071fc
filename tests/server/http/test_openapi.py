"""The OpenAPI document says what the collector does."""

import json
import re
from typing import Any, cast

import pytest
from tests.harness.collector import Collector, batch, report

from rumor_server.app import Collector as App
from rumor_server.http import openapi_examples as examples
from rumor_server.http.routes.estimates import MetricsPage
from rumor_server.ingestion.batch import decode_batch, decode_retractions
from rumor_server.queries.ranks import RanksPage
from rumor_server.queries.rows import EstimatesPage, Row
from rumor_server.queries.watch import WatchPage
from rumor_shared.registry import parse_registry


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


def test_shows_an_example_of_everything(document: dict[str, Any]) -> None:
    """Each parameter, each body and each answer has an example, and each error too."""
    for path in document["paths"].values():
        for operation in path.values():
            assert all("example" in one for one in operation.get("parameters", []))
            if "requestBody" in operation:
                assert "example" in operation["requestBody"]["content"]["application/json"]
            for status, answer in operation["responses"].items():
                assert status == "304" or answer["content"]
                assert all("example" in one for one in answer.get("content", {}).values())


def test_examples_are_what_it_describes(running: Collector) -> None:
    """What the examples show is decoded, parsed and validated by the code that they stand for."""
    decode_batch(json.dumps(examples.BATCH).encode(), "application/json")
    decode_retractions(json.dumps(examples.RETRACTIONS).encode(), "application/json")
    parse_registry(examples.REGISTRY.encode())
    page = EstimatesPage.model_validate(examples.ESTIMATES)
    assert page.model_dump(mode="json") == examples.ESTIMATES
    assert set(examples.ROWS[0]) == set(Row.model_fields)
    watch = WatchPage.model_validate(examples.WATCH)
    assert watch.model_dump(mode="json") == examples.WATCH
    ranks = RanksPage.model_validate(examples.RANKS)
    assert ranks.model_dump(mode="json") == examples.RANKS
    metrics = MetricsPage.model_validate(examples.METRICS)
    assert metrics.model_dump(mode="json") == examples.METRICS
    assert set(running.client.get("/version").json()) == set(examples.VERSION)
    (result,) = running.send(batch(report()))
    assert set(result) == set(examples.BATCH_RESULT["results"][0])


def test_describes_to_whom_it_may_concern(document: dict[str, Any]) -> None:
    """What a device should do with a batch is not told to a reader, nor a body's errors to all."""
    for path, operations in document["paths"].items():
        for operation in operations.values():
            is_device = "device" in operation["tags"]
            assert ("halves the batch" in str(operation)) is is_device
            assert ("408" in operation["responses"]) is ("requestBody" in operation)
            assert ("400" in operation["responses"]) is (is_device or "{metric}" in path)


def test_refers_to_nothing_that_is_missing(document: dict[str, Any]) -> None:
    """Every reference leads somewhere."""
    for name in re.findall(r"#/components/schemas/(\w+)", str(document)):
        assert name in document["components"]["schemas"]


def test_loads_nothing_from_elsewhere(running: Collector) -> None:
    """No page of the collector brings scripts of a third party to its reader."""
    page = running.client.get("/docs").text
    for path in cast(App, running.client.app).openapi()["paths"]:
        assert path in page
    assert re.findall(r'(?:src|href)="([^"]+)', page) == ["openapi.json"]
    assert "<script" not in page
    assert running.client.get("/redoc").status_code == 404
