"""Running `tamis` commands: inside this process, or as a process of its own."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tamis.cli import main

ROOT = Path(__file__).parents[2]


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys, monkeypatch, tmp_path) -> Run:
    """`run("match", …, stdin=b"")` in an empty directory; any exception but the command's own exit fails the test."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        return Outcome(int(stopped.value.code or 0), *capsys.readouterr())

    return call


@pytest.fixture
def process() -> tuple[list[str], dict[str, str]]:
    """The command line and environment that start `tamis` from this checkout."""
    return [sys.executable, "-m", "tamis"], os.environ | {"PYTHONPATH": str(ROOT / "src")}
