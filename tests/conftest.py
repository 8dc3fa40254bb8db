"""How properties are searched: anew at each run by hand, and the same each time in continuous integration.

A rare counterexample is worth having while somebody looks; it must not turn an unrelated change red. Who wants to
search longer says MCS_EXAMPLES=2000, how many inputs of each property (100 unless told); that is anew everywhere, and
`--hypothesis-seed` repeats it. No deadline: properties are about what holds, not about how fast a busy machine finds
it out.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("by hand", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("by hand"), derandomize=True)
if examples := os.environ.get("MCS_EXAMPLES"):
    settings.register_profile("longer", settings.get_profile("by hand"), max_examples=int(examples))
    settings.load_profile("longer")
else:
    settings.load_profile("repeatable" if os.environ.get("CI") else "by hand")
