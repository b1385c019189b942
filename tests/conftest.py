"""Settings that every test shares."""

from hypothesis import settings

# No deadline: the first call of a compiled kernel takes seconds, and a busy machine is not a bug.
settings.register_profile("tamis", deadline=None, print_blob=True)
settings.load_profile("tamis")
