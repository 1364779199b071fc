"""One hypothesis profile for people and one for CI, chosen by the environment variable `CI`."""

import os

from hypothesis import settings

# No deadline: two workers share the cores, and a slow example is not a wrong one.
settings.register_profile("rumor", deadline=None)
settings.register_profile("rumor-ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("rumor-ci" if os.environ.get("CI") else "rumor")
