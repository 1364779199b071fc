"""Whatever bytes come, the decoders answer with a batch or a refusal, never with another fault."""

import asyncio
import gzip
import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.types import Message
from tests.fuzz.targets import FOUND, TARGETS
from tests.harness.collector import LASTING, batch, compact, report
from tests.harness.collector_process import Serving

from rumor_server.errors import BadRequest
from rumor_server.http.body import read_body
from rumor_server.http.problem import status_of
from rumor_server.ingestion.batch import Batch, decode_batch, decode_retractions
from rumor_shared.wire import JSON, MAX_BATCH_BYTES, MSGPACK

EXAMPLES = int(os.environ.get("RUMOR_EXAMPLES", "200"))
played = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])


def packed() -> bytes:
    """A valid batch in MessagePack."""
    return msgspec.msgpack.encode(msgspec.json.decode(compact(batch(report())), type=Batch))


VALID = (compact(batch(report(), report("page", b"\x01\x00", revision=3))), packed())
EDIT = st.tuples(st.integers(0, 2**16), st.integers(0, 40), st.binary(max_size=12))


def edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """The data with parts of it cut out or replaced."""
    for place, cut, new in edits:
        at = place % (len(data) + 1)
        data = data[:at] + new + data[at + cut :]
    return data


@played
@given(
    st.one_of(
        st.binary(max_size=400),
        st.tuples(st.sampled_from(VALID), st.lists(EDIT, max_size=4)).map(lambda p: edited(*p)),
    )
)
def test_decodes_or_refuses_any_bytes(data: bytes) -> None:
    """Both formats, both kinds of body: a batch in its limits, or 400 or 413 without an echo."""
    for kind in (JSON, MSGPACK):
        for decode in (decode_batch, decode_retractions):
            refusal = refused(decode, data, kind)
            assert refusal is None or status_of(refusal) in {400, 413}
            assert refusal is None or len(refusal.detail) < 300


def refused(work: Callable[..., object], *arguments: Any) -> BadRequest | None:
    """The refusal that work ends with, if it does."""
    try:
        work(*arguments)
    except BadRequest as error:
        return error
    return None


@played
@given(
    st.sampled_from([b"", b"{}" * 40, bytes(MAX_BATCH_BYTES), bytes(3 * MAX_BATCH_BYTES)]),
    st.lists(EDIT, max_size=3),
    st.integers(1, 5000),
    st.booleans(),
)
def test_reads_or_refuses_any_body(
    data: bytes, edits: list[tuple[int, int, bytes]], step: int, is_gzip: bool
) -> None:
    """However a body is compressed, broken and cut into chunks, what is read stays in the limit."""
    wire = edited(gzip.compress(data, 1), edits) if is_gzip else data
    step = max(step, len(wire) // 200)
    chunks = [wire[i : i + step] for i in range(0, len(wire), step)] or [b""]
    messages: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": i + 1 < len(chunks)}
        for i, chunk in enumerate(chunks)
    ]
    coming = iter(messages)

    async def receive() -> Message:
        return next(coming)

    headers = {"content-encoding": "gzip"} if is_gzip else {}

    def read() -> None:
        assert len(asyncio.run(read_body(receive, headers, 5))) <= MAX_BATCH_BYTES

    refusal = refused(read)
    assert refusal is None or status_of(refusal) in {400, 413}


INPUTS = {
    **{
        f"{name}-seed{number}": (name, seed)
        for name, target in TARGETS.items()
        for number, seed in enumerate(target.seeds)
    },
    **{
        f"{file.parent.name}-{file.name}": (file.parent.name, file.read_bytes())
        for file in sorted(FOUND.glob("*/*"))
    },
}


@pytest.mark.parametrize("what", sorted(INPUTS))
def test_ends_as_documented_on_what_was_found(what: str) -> None:
    """Each input that a fuzzer found wanting, and each that one starts from, ends as documented."""
    name, data = INPUTS[what]
    TARGETS[name].run(data)


@played
@given(data=st.data())
def test_ends_as_documented_on_what_is_near(data: st.DataObject) -> None:
    """The decoders that take files, on edits of good ones: their documented errors and no other."""
    target = TARGETS[data.draw(st.sampled_from(sorted(TARGETS)))]
    seed = data.draw(st.sampled_from(target.seeds))
    target.run(edited(seed, data.draw(st.lists(EDIT, max_size=4))))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a collector's OpenAPI document is."""
    serving = Serving(tmp_path_factory.mktemp("schema"), LASTING)
    serving.start()
    yield f"http://127.0.0.1:{serving.port}/openapi.json"
    serving.kill()


@pytest.mark.slow
def test_answers_as_its_document_says(address: str) -> None:
    """schemathesis on every operation: no 5xx, and no answer that the document does not promise."""
    found = list(schemathesis.openapi.from_url(address).get_all_operations())
    assert len(found) >= 8
    for one in found:
        operation: Any = one.ok()  # type: ignore[union-attr]

        @settings(played, max_examples=max(10, EXAMPLES // 10))
        @given(operation.as_strategy())
        def answers(case: Any) -> None:
            # A document can't say that `from` is not after `to`, nor which base64 is canonical.
            case.call_and_validate(excluded_checks=[positive_data_acceptance])

        answers()
