"""Hosts that take things away: a home, descriptors, the package's folder, the working directory.

The app never pays for it: every call answers with a status, or raises what its docstring names.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.devices import ROOT

REGISTRY = """
[registry]
daily_epsilon = 8.0

[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 1.0
daily_epsilon = 1.0
values = ["light", "dark"]
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31

[metrics.browser]
revision = 1
mechanism = "basic_rappor"
f = 0.5
p = 0.25
q = 0.75
max_values = 1
values = ["one", "two"]
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31
"""

# Every call that an app makes; what it may raise is caught, and anything else ends the script.
CALLS = """
from rumor_client.errors import StateBusy, StateUnavailable
def call(name, *given):
    try:
        found = getattr(client, name)(*given)
    except (StateBusy, StateUnavailable) as error:
        return type(error).__name__
    return str(getattr(found, "status", "fine"))
def call_all():
    told = {"record": call("record", "theme", "dark"), "memoised": call("record", "browser", "one")}
    for name in ("flush", "view", "status", "waiting", "sent"):
        told[name] = call(name, *([1] if name == "flush" else []))
    told["forget"] = call("forget", 0.1)
    return told
"""


def run(script: str, *given: str | Path, **surroundings: str) -> str:
    """Run a script in a process of its own, and return what it printed; it must end well."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *given],
        cwd=ROOT,
        env={"PATH": "/usr/bin", "PYTHONPATH": f"{ROOT}/client:{ROOT}/shared", **surroundings},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


MADE = f"""
import os, sys
from rumor_client import Client
client = Client({REGISTRY!r}.encode(), "http://127.0.0.1:9", app="editor", policy="", environ={{}},
                background=False)
"""


@pytest.mark.parametrize(
    ("platform", "home", "said"),
    [
        ("linux", None, "this user has no home; give state=, or set XDG_DATA_HOME"),
        ("linux", "relative", "this user has no home; give state=, or set XDG_DATA_HOME"),
        ("darwin", None, "this user has no home; give state=, or set HOME"),
        ("win32", None, "this user has no home; give state=, or set LOCALAPPDATA"),
        ("linux", "/dev/null", "Not a directory"),
    ],
)
def test_a_user_without_a_home_is_no_error(platform: str, home: str | None, said: str) -> None:
    """A client is made all the same; `record` is unavailable, with one line of log (N-01)."""
    script = f"""
import os, pwd, sys
def gone(uid):
    raise KeyError(uid)
pwd.getpwuid = gone
from rumor_client.state import paths
paths.sys = type("Sys", (), {{"platform": {platform!r}}})
{MADE}{CALLS}
import logging
try:
    client.consent.grant()
except StateUnavailable:
    pass
print([call("record", "theme", "dark") for _ in range(2)])
print(sorted(set(call_all().values())))
"""
    shown = run(script, **({} if home is None else {"HOME": home}))
    assert "['unavailable', 'unavailable']" in shown
    assert shown.count(said) == 1
    assert "Traceback" not in shown


def test_a_command_of_a_user_without_a_home_says_it_in_one_line(tmp_path: Path) -> None:
    """`rumor device --app` ends with a sentence and no traceback (N-01)."""
    (tmp_path / "metrics.toml").write_text(REGISTRY)
    script = """
import pwd, sys
def gone(uid):
    raise KeyError(uid)
pwd.getpwuid = gone
from rumor_client.__main__ import main
print("exit", main(["--registry", sys.argv[1], "--app", "editor", "status"]))
"""
    shown = run(script, tmp_path / "metrics.toml")
    assert "exit 1" in shown
    assert "rumor device: the state can't be used: this user has no home; give state=" in shown


@pytest.mark.parametrize("warm", [False, True], ids=["at once", "after a report"])
def test_no_descriptor_is_left_to_open(warm: bool, tmp_path: Path) -> None:
    """With RLIMIT_NOFILE used up, every call answers, and denies if it is to deny (N-02)."""
    script = f"""
import resource
{MADE}{CALLS}
client.consent.grant()
if {warm}:
    assert client.record("theme", "dark").recorded
else:
    client.state.close()
held = []
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
told = call_all()
print(told)
for each in held:
    os.close(each)
assert client.record("theme", "dark").status == "no_consent"
assert not client.consent.is_granted("to test")
client.close()
later = Client({REGISTRY!r}.encode(), app="editor", policy="", environ={{}}, background=False)
assert not later.consent.is_granted("to test")
later.close()
"""
    shown = run(script, XDG_DATA_HOME=str(tmp_path), HOME=str(tmp_path))
    assert "'record': 'unavailable'" in shown or warm
    assert "Traceback" not in shown


@pytest.mark.parametrize("how", ["gone", "unreadable"])
def test_the_package_is_gone_after_the_client_was_made(how: str, tmp_path: Path) -> None:
    """An upgrade under a running app: it records and denies as before, and what can't be loaded any
    more is a status (N-02).
    """
    for room in ("client/rumor_client", "shared/rumor_shared"):
        shutil.copytree(ROOT / room, tmp_path / "package" / Path(room).name)
    script = f"""
import shutil
sys_path = sys.argv[1]
{MADE}{CALLS}
client.consent.grant()
if {how!r} == "gone":
    shutil.rmtree(sys_path)
else:
    if os.getuid() == 0:
        os.chmod(os.path.dirname(os.environ["HOME"]), 0o777)
        os.chmod(os.environ["HOME"], 0o777)
    os.rename(sys_path, sys_path + ".moved")
told = call_all()
print(told)
assert told["record"] == told["memoised"] == "recorded", told
assert told["forget"] == "fine", told
assert client.record("theme", "dark").status == "no_consent"
client.close()
"""
    place = str(tmp_path / "package")
    shown = run(
        f"import sys; sys.path.insert(0, sys.argv[1])\n{script}",
        place,
        PYTHONPATH=place,
        XDG_DATA_HOME=str(tmp_path),
        HOME=str(tmp_path),
    )
    assert "Traceback" not in shown


def test_paths_are_bound_when_the_client_is_made(tmp_path: Path) -> None:
    """A relative state and policy stay where they were, whatever the app's working directory; `~`
    is the home, and an empty path is refused (N-03).
    """
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    script = f"""
import os, sys
from rumor_client import Client, ConfigurationError
made = dict(policy="policy.toml", environ={{}}, background=False)
os.chdir(sys.argv[1] + "/first")
client = Client({REGISTRY!r}.encode(), state="state.db", **made)
client.consent.grant()
assert client.record("theme", "dark").recorded
os.chdir(sys.argv[1] + "/second")
assert client.record("theme", "dark").status == "budget_exceeded"
assert client.consent.is_granted("to test")
open("policy.toml", "w").write('consent = "denied"')
assert client.consent.is_granted("to test")
open(sys.argv[1] + "/first/policy.toml", "w").write('consent = "denied"')
assert not client.consent.is_granted("to test")
client.close()
home = Client({REGISTRY!r}.encode(), state="~/x/s.db", environ={{}}, background=False)
home.consent.grant()
assert os.path.exists(os.environ["HOME"] + "/x/s.db") and not os.path.exists("~")
home.close()
for wrong in ("", "~nobody-of-that-name/s.db", "a\\0b"):
    try:
        Client({REGISTRY!r}.encode(), state=wrong)
    except ConfigurationError as error:
        assert error.field == "state", error
    else:
        raise AssertionError(wrong)
os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
try:
    Client({REGISTRY!r}.encode(), state="relative.db")
except ConfigurationError as error:
    assert "working directory is gone" in str(error)
"""
    run(script, tmp_path, HOME=str(tmp_path))
    assert not (tmp_path / "second" / "state.db").exists()


def test_where_no_thread_starts_the_close_uploads(tmp_path: Path) -> None:
    """One warning, and `close` sends what waits from the calling thread, within its two seconds;
    so does the end of the process (N-09).
    """
    script = f"""
import sys, threading, time
from rumor_client.testing import FakeCollector
from rumor_client import Client
def refuse(*_, **__):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
def made(name, transport):
    client = Client({REGISTRY!r}.encode(), "http://collector.invalid", state=sys.argv[1] + name,
                    policy="", environ={{}}, transport=transport)
    client.consent.grant()
    assert client.record("theme", "dark").recorded
    assert client.record("browser", "one").recorded
    return client
collector = FakeCollector()
with made("/a", collector):
    assert collector.requests == []
assert len(collector.counted) == 2
def hang(request):
    time.sleep(request.timeout)
    raise TimeoutError
began = time.monotonic()
made("/b", hang).close()
assert time.monotonic() - began < 3
class Late(FakeCollector):
    def __call__(self, request):
        response = super().__call__(request)
        print("counted at exit", len(self.counted))
        return response
late = Late()
kept = made("/c", late)
"""
    shown = run(script, tmp_path)
    assert shown.count("no thread can be started here") == 1
    assert "counted at exit 2" in shown
