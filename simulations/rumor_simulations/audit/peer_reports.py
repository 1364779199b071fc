"""Print reports of pure-ldp's unary encoding, one line of hexadecimal each.

    python peer_reports.py sue|oue EPSILON VALUES INDEX COUNT

It runs in an environment of pure-ldp's own and imports nothing of ours. The seed is the operating
system's, as far as numpy's generator can be seeded from it.
"""

from __future__ import annotations

import sys


def main(encoding: str, epsilon: str, values: str, index: str, count: str) -> None:
    """Perturb one index many times. Its clients count values from 1."""
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    k = int(values)
    client = UEClient(epsilon=float(epsilon), d=k, use_oue=encoding == "oue")
    for _ in range(int(count)):
        bits = client.privatise(int(index) + 1)
        vector = sum(1 << i for i, bit in enumerate(bits) if bit)
        sys.stdout.write(vector.to_bytes((k + 7) // 8, "little").hex() + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
