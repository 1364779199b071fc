"""The script `rumor` with a clock of the tests': its UTC day is the one in `HARNESS_DAY`.

A test that runs across midnight would else meet a new day's limits, budgets and verdicts half-way.
"""

import os
import sys
from datetime import date

from rumor_server import clock

if __name__ == "__main__":
    day = date.fromisoformat(os.environ["HARNESS_DAY"])
    # Before any module takes the function over under its name.
    clock.system_day = lambda: day
    from rumor_shared.console import main

    sys.exit(main())
