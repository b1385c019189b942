"""Settings that every test shares."""

import pytest
from hypothesis import settings

# No deadline: the first call of a compiled kernel takes seconds, and a busy machine is not a bug.
settings.register_profile("tamis", deadline=None, print_blob=True)
settings.load_profile("tamis")


def pytest_collection_modifyitems(items):
    """Keep on one worker what shares something costly: an engine's kernels, a Spark session, the fixtures of a file."""
    for item in items:
        variant = item.callspec.params.get("variant") if hasattr(item, "callspec") else None
        group = variant[0] if variant else "spark" if "spark" in item.path.parts else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
