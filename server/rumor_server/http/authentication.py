"""ASGI middleware that authenticates requests and enforces quotas, in front of every route.

Each path wants one scope, and an unknown path wants `analyst`, so that a new route is closed until
someone opens it here. Keys are read anew every few seconds: a revoked one is refused by then, on
every process. If they can't be read, whoever needs one is answered 503.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection
from datetime import date

from starlette.types import ASGIApp, Receive, Scope, Send

from rumor_server.access import Scope as KeyScope
from rumor_server.access import is_loopback
from rumor_server.errors import AccessRefused, KeyRequired
from rumor_server.http.counters import Counters
from rumor_server.http.ip_rate_limit import IpRateLimit
from rumor_server.http.problem import problem_of
from rumor_server.http.quota import KeyQuotas, current_key
from rumor_server.http.responses import preferred
from rumor_server.operations.keyring import Keyring
from rumor_server.storage.keys import Key
from rumor_shared.errors import RumorError
from rumor_shared.wire import JSON, REGISTRY_PATH, REPORTS_PATH, RETRACTIONS_PATH

# What tells nothing of any report; a device and a load balancer have no key for it.
PUBLIC = frozenset({"/healthz", "/readyz", "/version", "/docs", "/openapi.json", REGISTRY_PATH})
DEVICE = frozenset({REPORTS_PATH, RETRACTIONS_PATH})
METRICS = "/metrics"
# What pages load: it is in everybody's copy of Rumor.
_STATIC = "/static/"
# Loopback has many addresses; nobody needs more of them than this.
_MOST_NAMES = 64
HTML_KIND = "text/html"
HTML = HTML_KIND + "; charset=utf-8"
_CHALLENGES = ("Bearer", 'Basic realm="Rumor", charset="UTF-8"')
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


def wanted_scope(path: str) -> KeyScope | None:
    """Return the scope that a path wants, or None for a public one."""
    if path in DEVICE:
        return KeyScope.INGEST
    if path in PUBLIC or path.startswith(_STATIC):
        return None
    return KeyScope.ADMIN if path == METRICS else KeyScope.ANALYST


class Authentication:
    """The ASGI application in front of all others: lets a request in, or answers with a problem."""

    def __init__(
        self,
        app: ASGIApp,
        keyring: Keyring,
        quotas: KeyQuotas,
        addresses: IpRateLimit,
        counters: Counters,
        *,
        is_open: frozenset[KeyScope],
        undecided: frozenset[KeyScope],
        host: str,
        today: Callable[[], date],
        check_in_force: Callable[[], None],
        origins: Collection[str],
        sign_in_page: Callable[[str], str],
    ) -> None:
        self._app = app
        self._keyring = keyring
        self._quotas = quotas
        self._addresses = addresses
        self._open = is_open
        self._undecided = undecided
        self._host = host
        self._own_names: set[bytes] = set()
        self._today = today
        self._counters = counters
        self._check_in_force = check_in_force
        self._origins = origins
        self._sign_in_page = sign_in_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            current_key.set(await self._admit(scope))
        except RumorError as error:
            await self._refuse(error, scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _refuse(self, error: RumorError, scope: Scope, receive: Receive, send: Send) -> None:
        answer = problem_of(error, sends_reports=scope["path"] in DEVICE)
        self._counters.refused[answer.status_code] += 1
        if isinstance(error, KeyRequired) and _is_page(scope):
            answer.body = self._sign_in_page(error.detail).encode()
            answer.headers["Content-Type"] = HTML
            answer.headers["Content-Length"] = str(len(answer.body))
        # What is refused unread would be read as the next request, were the socket kept.
        if scope["method"] not in _READS:
            answer.headers["Connection"] = "close"
        await answer(scope, receive, send)

    async def _admit(self, scope: Scope) -> Key | None:
        wanted = wanted_scope(scope["path"])
        if wanted is None:
            return None
        if wanted is KeyScope.INGEST:
            self._check_in_force()
        elif scope["method"] not in _READS:
            self._check_csrf(scope)
        given = _given(scope, wanted)
        key = None if given is None else await self._keyring.find(given)
        if key is not None and key.valid(self._today()) and key.scope.allows(wanted):
            self._keyring.used(key)
            await self._quotas.take_request(key)
            return key
        # Wrong keys count as none: whoever tries them is as limited as whoever has none.
        self._addresses.take(scope)
        if wanted not in self._open:
            raise _refusal(wanted, given, key, self._today())
        if wanted in self._undecided:
            self._check_host(scope)
        return None

    def _check_host(self, scope: Scope) -> None:
        """Refuse a stranger's name for this machine. Names that passed are few, and remembered."""
        host = b""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
                break
        if host not in self._own_names:
            check_host(host.decode("latin-1"), self._host)
            if len(self._own_names) < _MOST_NAMES:
                self._own_names.add(host)

    def _check_csrf(self, scope: Scope) -> None:
        """Refuse what another site's page makes a reader's browser send with the reader's key.

        Browsers that don't say where from (Sec-Fetch-Site) name an origin; programs do neither.
        """
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"").decode("latin-1")
        site = headers.get(b"sec-fetch-site")
        if site is not None:
            foreign = site not in (b"none", b"same-origin")
        else:
            own = headers.get(b"host", b"").decode("latin-1")
            foreign = bool(origin) and not _is_same_host(origin, own)
        if foreign and origin not in self._origins:
            raise AccessRefused("pages of another site may not send this; see cors_origins")


def check_host(host: str, own: str) -> None:
    """Refuse a name that isn't this machine's, where what is open is so for this machine alone.

    A page of another site may have its own name point here (DNS rebinding), and would then read
    what the browser takes for that site's. An address is nobody's name, and programs may send none.
    """
    name = _bare_host(host.lower())
    if name in ("", "localhost", own.lower()) or name.endswith(".localhost") or is_loopback(name):
        return
    raise AccessRefused(
        "this is open to this machine alone: call it as localhost, or decide the setting "
        "ingest_access, read_access or metrics_access"
    )


def _bare_host(host: str) -> str:
    """Return a host without its port; an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_same_host(origin: str, host: str) -> bool:
    """Return whether an origin is of a host; its port counts where both name one."""
    scheme, _, place = origin.partition("://")
    if not place or not scheme:
        return False
    ports = [text.rpartition(":")[2] for text in (place, host) if text.rpartition(":")[2].isdigit()]
    return _bare_host(place) == _bare_host(host) and len(set(ports)) <= 1


def _is_page(scope: Scope) -> bool:
    """Return whether a person asks with a browser: it wants a page before everything else."""
    accept = dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
    return preferred(accept, JSON, HTML_KIND) == HTML_KIND


def _given(scope: Scope, wanted: KeyScope) -> str | None:
    """Return the key in a request: a Bearer token, or what a browser's password prompt sends."""
    given: list[bytes] = [v for name, v in scope["headers"] if name == b"authorization"]
    if not given:
        return None
    kind, _, rest = given[0].decode("latin-1").strip().partition(" ")
    if kind.lower() == "bearer":
        return rest.strip()
    if kind.lower() == "basic" and wanted is not KeyScope.INGEST:
        try:
            _, _, password = base64.b64decode(rest.strip(), validate=True).partition(b":")
            return password.decode("ascii")
        except (binascii.Error, ValueError):
            return ""
    return None


def _refusal(wanted: KeyScope, given: str | None, key: Key | None, day: date) -> AccessRefused:
    challenges = _CHALLENGES[: 1 if wanted is KeyScope.INGEST else None]
    if given is None:
        detail = "this needs a key; send Authorization: Bearer <key>"
    elif key is None or not key.valid(day):
        detail = "the key is unknown, revoked or expired; ask the operator for a new one"
    else:
        return AccessRefused(f"a key with the scope `{wanted}` is needed; this has another")
    return KeyRequired(detail, challenges)
