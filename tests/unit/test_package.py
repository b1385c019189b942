"""The package carries its types and explains itself."""

from importlib.resources import files

import tamis


def test_is_typed_and_explains_itself():
    assert files(tamis).joinpath("py.typed").is_file()
    assert (tamis.__doc__ or "").startswith("Content-based publish/subscribe")
