"""How properties are searched: anew at each run by hand, and the same each time in continuous integration.

A rare counterexample is worth having while somebody looks; it must not turn an unrelated change red. No deadline:
properties are about what holds, not about how fast a busy machine finds it out.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("by hand", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("by hand"), derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "by hand")
