"""The judge: it meets each request with the next fault of a script, and watches what follows.

The client under judgement records a report of any metric now and then, and uploads until it is told
to stop. Each check is open until it was seen; one breach fails it for good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from time import monotonic
from typing import Any

from rumor_shared.wire import REPORTS_PATH, RETRACTIONS_PATH, Retraction, Verdict
from rumor_simulations.conformance.registry import registry
from rumor_simulations.conformance.rules import Broken, read_batch
from rumor_simulations.conformance.script import CHECKS, OPTIONAL, Reply, script

# A batch must have this many reports before it can show how it is split and told apart.
_ENOUGH = 4
# How much too early a request may be: clocks differ.
_SLACK = 0.1


@dataclass
class Check:
    """One check: seen or not, and what was wrong."""

    seen: bool = False
    faults: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """PASS, FAIL or NOT SEEN."""
        return "FAIL" if self.faults else "PASS" if self.seen else "NOT SEEN"


class Judge:
    """Judges one client. `quiet` is how long it must be silent after 401, in seconds."""

    def __init__(self, quiet: float = 3.0, retry_after: int = 2) -> None:
        self.checks = {name: Check() for name in (*CHECKS, *OPTIONAL)}
        self._quiet = quiet
        self._sent: dict[str, tuple[Any, ...]] = {}
        self._names: dict[str, str] = {}
        self._finished: dict[str, str] = {}
        self._owed: dict[str, set[str]] = {}
        self._not_before = 0.0
        self._plain_expected = False
        self._stopped_at: float | None = None
        self._script = script(retry_after)

    @property
    def done(self) -> bool:
        """Whether the script has ended and the silence after it has lasted."""
        return self._stopped_at is not None and monotonic() > self._stopped_at + self._quiet

    @property
    def conforms(self) -> bool:
        """Whether every check was passed; one that is optional may not have been seen."""
        return all(
            check.verdict == "PASS" or (name in OPTIONAL and not check.faults)
            for name, check in self.checks.items()
        )

    def report(self) -> str:
        """Return the judgement, check by check."""
        lines = []
        for name, what in (CHECKS | OPTIONAL).items():
            check = self.checks[name]
            optional = " (optional)" if name in OPTIONAL and not check.seen else ""
            lines.append(f"{check.verdict:<9} {name}: {what}{optional}")
            lines += [f"          {fault}" for fault in sorted(set(check.faults))]
        lines.append("The client conforms." if self.conforms else "The client does not conform.")
        return "\n".join(lines)

    def fail(self, check: str, fault: str) -> None:
        """Note a breach."""
        self.checks[check].faults.append(fault)

    def see(self, check: str) -> None:
        """Note that a check's occasion came."""
        self.checks[check].seen = True

    def meet(
        self, path: str, headers: Mapping[str, str], body: bytes, connection: list[str]
    ) -> Reply:
        """Judge a request and return what to answer. `connection` keeps the days it has carried."""
        if path == RETRACTIONS_PATH:
            return self._retract(headers, body, connection)
        if path != REPORTS_PATH:
            self.fail("redirect", f"a request came to {path}")
            return Reply(404, {"title": "no such page"})
        if self._stopped_at is not None:
            if monotonic() < self._stopped_at + self._quiet:
                self.fail("stop", "a request came after 401")
            return Reply(401, {"title": "no"})
        if monotonic() < self._not_before - _SLACK:
            self.fail("503", "a request came before Retry-After had passed")
        try:
            batch = read_batch(headers, body, "reports", registry(), _today())
        except Broken as broken:
            self.see("schema")
            self.fail("schema", broken.what)
            return Reply(400, {"title": "not the schema"})
        self.see("schema")
        reports = batch["reports"]
        self._watch(batch, connection)
        if self._plain_expected:
            self._plain_expected = False
            if headers.get("content-encoding") == "gzip":
                self.fail("415", "the body was compressed again")
        while self._script:
            reply = self._script[0](self, reports, headers)
            if reply is not None:
                if "Retry-After" in reply.headers:
                    self._not_before = monotonic() + int(reply.headers["Retry-After"])
                self._plain_expected = reply.status == 415
                return reply
            self._script.pop(0)
        return self._end(reports)

    def _watch(self, batch: dict[str, Any], connection: list[str]) -> None:
        day, name = batch["day"], batch["pseudonym"]
        self.see("one day")
        if connection and connection[-1] != day:
            self.fail("one day", "two days came over one connection")
        connection.append(day)
        known = self._names.setdefault(day, name)
        if known != name:
            self.fail("one day", "one day came under two pseudonyms")
        if any(other == name for its, other in self._names.items() if its != day):
            self.fail("one day", "two days came under one pseudonym")
        for report in batch["reports"]:
            fields = (report["metric"], report["revision"], report["cohort"], report["payload"])
            given = (day, name, *fields)
            if report["id"] in self._sent:
                self.see("same bytes")
            if self._sent.setdefault(report["id"], given) != given:
                self.fail("same bytes", "a report came again with another day, name or payload")
            finished_by = self._finished.get(report["id"])
            if finished_by is not None:
                self.fail(finished_by, "a report came again after its last word")
            for owed in self._owed.values():
                owed.discard(report["id"])

    def owe(self, check: str, reports: list[dict[str, Any]]) -> None:
        """Expect these reports to come again."""
        self.see(check)
        self._owed.setdefault(check, set()).update(report["id"] for report in reports)

    def answer(
        self, reports: list[dict[str, Any]], tell: Callable[[int], str], check: str
    ) -> Reply:
        """Give verdicts: `tell(place)` says which; all but retry and unknown ones are the last
        word.
        """
        results = []
        for place, report in enumerate(reports):
            verdict = tell(place)
            result = {"id": report["id"], "verdict": verdict, "detail": ""}
            if verdict == Verdict.REJECTED:
                result["reason"] = "too_late"
            if verdict == Verdict.RETRY:
                result["reason"] = "too_early"
            results.append(result)
            if verdict in (Verdict.ACCEPTED, Verdict.DUPLICATE, Verdict.REJECTED):
                self.finish(report["id"], check)
        return Reply(200, {"results": results, "server_day": _today().isoformat()})

    def finish(self, report_id: str, check: str) -> None:
        """Expect a report never to come again."""
        self._finished[report_id] = check

    def gather(self, reports: list[dict[str, Any]]) -> Reply | None:
        """Ask for more reports at a time, until there are enough."""
        if len(reports) >= _ENOUGH:
            return None
        return self.answer(reports, lambda place: Verdict.RETRY, "verdicts")

    def _end(self, reports: list[dict[str, Any]]) -> Reply:
        if any(self._owed.values()):
            return self.answer(reports, lambda place: Verdict.ACCEPTED, "verdicts")
        self.see("stop")
        self._stopped_at = monotonic()
        return Reply(401, {"title": "no"})

    def close(self) -> None:
        """Note what never came again."""
        for check, owed in self._owed.items():
            if owed:
                self.fail(check, f"{len(owed)} reports never came again")

    def _retract(self, headers: Mapping[str, str], body: bytes, connection: list[str]) -> Reply:
        self.see("retraction")
        try:
            batch = read_batch(headers, body, "retractions", registry(), _today())
        except Broken as broken:
            self.fail("retraction", broken.what)
            return Reply(400, {"title": "not the schema"})
        if connection and connection[-1] != batch["day"]:
            self.fail("one day", "two days came over one connection")
        connection.append(batch["day"])
        results = []
        for report in batch["retractions"]:
            known = self._sent.get(report["id"])
            fields = (report["metric"], report["revision"], report["cohort"], report["payload"])
            if known is None:
                self.fail("retraction", "a report was retracted that was never sent")
            elif (known[0], *known[2:]) != (batch["day"], *fields):
                self.fail("retraction", "a retraction has other fields than its report")
            results.append({"id": report["id"], "verdict": Retraction.RETRACTED, "detail": ""})
        return Reply(200, {"results": results, "server_day": _today().isoformat()})


def _today() -> date:
    return datetime.now(UTC).date()
