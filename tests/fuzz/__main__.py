"""`python -m tests.fuzz TARGET`: a decoder against inputs that its own coverage leads to.

Needs atheris (`pip install atheris`), which has no wheel for every platform and so is in no extra.
The inputs that reached something new are kept under `--corpus`, and a later run goes on from them;
so is the one that was found wanting. Put it into `tests/fuzz/found/TARGET`, and it is a test.
"""

import argparse
import sys
from pathlib import Path

try:
    import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]
except ImportError:
    sys.exit("this needs more than is installed; run: pip install atheris")

READERS = ["rumor_server", "rumor_shared", "tomllib", "json", "zipfile", "numpy.lib"]
with atheris.instrument_imports(include=READERS):
    from tests.fuzz.targets import TARGETS

# A decoder that takes longer for at most a MiB hangs; one that takes more holds more than it may.
INPUT_SECONDS = 10
MEMORY_MIB = 1024


def main() -> None:
    """Fuzz one target until the time is over or something is found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--bytes", type=int, default=4096, help="the longest input")
    parser.add_argument("--corpus", type=Path, default=Path("fuzz"))
    given = parser.parse_args()
    target = TARGETS[given.target]
    corpus = given.corpus / given.target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed{number}").write_bytes(seed)
    words = given.corpus / f"{given.target}.words"
    words.write_text("".join(f'"{escaped(word)}"\n' for word in target.words), "utf-8")
    options = [
        f"-dict={words}",
        f"-max_total_time={given.seconds}",
        f"-max_len={given.bytes}",
        f"-timeout={INPUT_SECONDS}",
        f"-rss_limit_mb={MEMORY_MIB}",
        f"-artifact_prefix={given.corpus}/{given.target}-",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], str(corpus), *options], target.run)
    atheris.Fuzz()


def escaped(word: bytes) -> str:
    """Return a word as a dictionary of libFuzzer writes it."""
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    main()
