"""RAPPOR (Erlingsson, Pihur, Korolova, CCS 2014): a Bloom filter behind two responses.

`rappor`: any text; k bits, h hashes that differ by cohort. `basic_rappor`: a closed domain, one bit
a value, one hash.

    permanent (PRR)       a bit keeps its Bloom bit with 1 - f, else it is a fair coin
                          (drawn once a value, for ever)
    instantaneous (IRR)   a permanent 1 is reported as 1 with q, a permanent 0 with p
                          (drawn for each report)
    q* = f/2 (p + q) + (1 - f) q        P[report 1 | Bloom bit 1]
    p* = f/2 (p + q) + (1 - f) p        P[report 1 | Bloom bit 0]
    epsilon_first_report = h ln( q*(1 - p*) / (p*(1 - q*)) )
    epsilon_infinity     = 2 h ln( (1 - f/2) / (f/2) )

Payload: k bits, little-endian within a byte. Tally: k cells a cohort. With f = 0 nothing is
permanent: each report costs the same and draws a fresh cohort. Rounding: f/2 up, p and q towards
each other.

`hashing` says which bits a value sets: "mix" (`rumor_shared.hashing`, the default) or "rappor_md5"
(`rumor_shared.rappor_md5`: the filters of Google's clients). Under the latter `client` ("exact",
"python", "cpp", "java") says whose reports are counted, which decides what f really is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from rumor_shared import rappor_md5
from rumor_shared.bits import check_bits, payload_length
from rumor_shared.epsilon import exp_bounds, from_micro, micro_epsilon
from rumor_shared.fields import Fields, nearest
from rumor_shared.hashing import MAX_HASHES, ValueHash, hash_bytes, positions
from rumor_shared.mechanism import (
    MAX_CELLS,
    MAX_KEPT_COHORTS,
    MAX_PAYLOAD_BYTES,
    Bits,
    Mechanism,
)
from rumor_shared.probability import ONE, as_fraction, round_down, round_up
from rumor_shared.rappor_md5 import RapporClient, effective_f, most_bits, most_hashes

MIX = "mix"
RAPPOR_MD5 = "rappor_md5"

# Permanent answers are redrawn for no more values than this: each costs epsilon_infinity anew.
_MAX_VALUES = 1000


@dataclass(frozen=True)
class Rappor(Mechanism):
    """RAPPOR; `half_f`, `p_set` and `q_set` over 2**64 are f/2, p and q."""

    name: str
    values: tuple[str, ...] | None
    bits: int
    hashes: int
    cohort_count: int
    half_f: int
    p_set: int
    q_set: int
    permanent_values: int
    hashing: str = MIX
    client: RapporClient = RapporClient.EXACT

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> Rappor:
        """Read `f, p, q` or `epsilon_infinity, epsilon_first_report`; then `max_values` (default
        1).

        `rappor` needs `bits` and takes `hashes` (2), `cohorts` (64), `hashing` ("mix") and, under
        `hashing = "rappor_md5"`, `client` ("exact"); `basic_rappor` needs `values`.
        """
        values: tuple[str, ...] | None = None
        hashing, client = MIX, RapporClient.EXACT
        if name == "basic_rappor":
            values = fields.texts("values", 2, MAX_PAYLOAD_BYTES * 8)
            bits, hashes, cohorts = len(values), 1, 1
        else:
            hashing = _choice(fields, "hashing", (MIX, RAPPOR_MD5))
            longest, most = MAX_PAYLOAD_BYTES * 8, MAX_HASHES
            if hashing == RAPPOR_MD5:
                client = RapporClient(_choice(fields, "client", tuple(RapporClient)))
                longest = most_bits(client) or longest
            bits = fields.integer("bits", 2, longest)
            if hashing == RAPPOR_MD5:
                most = most_hashes(bits, client)
            hashes = fields.integer("hashes", 1, min(bits - 1, most), default=min(2, bits - 1))
            cohorts = fields.power_of_two("cohorts", MAX_KEPT_COHORTS, default=64)
            if bits * cohorts > MAX_CELLS:
                fields.problem("bits", f"x cohorts passes {MAX_CELLS} cells", "use fewer of either")
        if fields.has("epsilon_infinity"):
            half_f, p_set, q_set = _solve(fields, hashes, client)
        else:
            half_f, p_set, q_set = _given(fields, client)
        permanent = fields.integer("max_values", 1, _MAX_VALUES, default=1) if half_f else 0
        return cls(
            name, values, bits, hashes, cohorts, half_f, p_set, q_set, permanent, hashing, client
        )

    @property
    def q_star(self) -> Fraction:
        """P[reported 1 | Bloom bit 1], over both responses."""
        kept = as_fraction(ONE - self.half_f)
        return kept * as_fraction(self.q_set) + (1 - kept) * as_fraction(self.p_set)

    @property
    def p_star(self) -> Fraction:
        """P[reported 1 | Bloom bit 0], over both responses."""
        kept = as_fraction(ONE - self.half_f)
        return kept * as_fraction(self.p_set) + (1 - kept) * as_fraction(self.q_set)

    @property
    def cohorts(self) -> int:
        """Number of cohorts."""
        return self.cohort_count

    @property
    def payload_bytes(self) -> int:
        """ceil(k / 8) bytes."""
        return payload_length(self.bits)

    @property
    def cells(self) -> int:
        """One cell a bit."""
        return self.bits

    @property
    def memoised(self) -> bool:
        """True unless f = 0."""
        return self.half_f > 0

    @property
    def max_values(self) -> int:
        """Number of values that get a permanent answer of their own."""
        return self.permanent_values

    @cached_property
    def epsilon_report(self) -> int:
        """h ln(q*(1 - p*) / (p*(1 - q*))), the larger response first."""
        high, low = max(self.q_star, self.p_star), min(self.q_star, self.p_star)
        return micro_epsilon((high * (1 - low) / (low * (1 - high))) ** self.hashes)

    @cached_property
    def epsilon_infinity(self) -> int | None:
        """2 h ln((1 - f/2) / (f/2))."""
        if not self.memoised:
            return None
        return micro_epsilon(Fraction(ONE - self.half_f, self.half_f) ** (2 * self.hashes))

    def bloom_bits(self, value: ValueHash, key: int, cohort: int) -> tuple[int, ...]:
        """Return the bits that a value sets under `hashing = "mix"`; two hashes may coincide."""
        return positions(value, key, cohort, self.hashes, self.bits)

    def filter_bits(self, value: bytes, key: int, cohort: int) -> tuple[int, ...]:
        """Return the bits that a value's canonical bytes set in a cohort's filter.

        Whatever the hashing; two hashes may coincide.
        """
        if self.hashing == RAPPOR_MD5:
            return rappor_md5.bloom_bits(value, cohort, self.hashes, self.bits, self.client)
        return positions(hash_bytes(value), key, cohort, self.hashes, self.bits)

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[a bit is set] where the value sets it and where it doesn't, in either order."""
        return self.q_star, self.p_star

    def bit_law(self) -> Bits:
        """Return the law of a report's bits: a value sets one for each hash, unless hashes meet."""
        return Bits(self.cells, self.hashes, float(self.q_star), float(self.p_star))

    def check_payload(self, payload: bytes) -> None:
        """Accept exactly k bits with clear padding."""
        check_bits(payload, self.bits)


def _choice(fields: Fields, key: str, choices: tuple[str, ...]) -> str:
    choice = fields.text(key, default=choices[0])
    if choice not in choices:
        fix = nearest(choice, choices) + f"choose {', '.join(choices)}"
        fields.problem(key, "is not a choice here", fix)
    return choice


def _given(fields: Fields, client: RapporClient) -> tuple[int, int, int]:
    given, p, q = (fields.probability(key) for key in ("f", "p", "q"))
    f = effective_f(given, client)
    if f == 1:
        rounded = "" if f == given else f" as the {client} client rounds it"
        fields.problem(
            "f", f"is 1{rounded}, so a report says nothing of the value", "choose f below 1"
        )
    if p == q:
        fields.problem("p", "equals q, so a report says nothing of the value", "choose p below q")
    low_name, high_name = ("p", "q") if p < q else ("q", "p")
    low, high = round_up(min(p, q)), round_down(max(p, q))
    if low >= high:
        fields.problem("p", "is too near q", "choose p further from q")
    half_f = round_up(f / 2)
    if half_f == 0 and (low == 0 or high == ONE):
        name = low_name if low == 0 else high_name
        fields.problem(name, "is certain while f = 0, so a bit can give its value away", "raise f")
    p_set, q_set = (low, high) if p < q else (high, low)
    return half_f, p_set, q_set


def _solve(fields: Fields, hashes: int, client: RapporClient) -> tuple[int, int, int]:
    if client is not RapporClient.EXACT:
        fields.problem(
            "epsilon_infinity",
            f"can't choose f for the {client} client, which has its own",
            "give the f, p and q of the devices",
        )
    for key in ("f", "p", "q"):
        if fields.has(key):
            fields.problem(key, "is given beside epsilon_infinity", "give one or the other")
    infinity = fields.epsilon("epsilon_infinity")
    first = fields.epsilon("epsilon_first_report")
    if first >= infinity:
        fields.problem(
            "epsilon_first_report", "is not below epsilon_infinity", "lower it, or raise the other"
        )
    low_infinity, _ = exp_bounds(from_micro(infinity) / (2 * hashes))
    half_f = round_up(1 / (1 + low_infinity))
    low_first, _ = exp_bounds(from_micro(first) / (2 * hashes))
    flipped = as_fraction(half_f)
    q_set = round_down((low_first / (1 + low_first) - flipped) / (1 - 2 * flipped))
    return half_f, ONE - q_set, q_set
