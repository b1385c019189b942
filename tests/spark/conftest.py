"""One Spark session for all tests of this folder."""

import os
from pathlib import Path

import pytest

from tamis.spark import local_session
from tamis.spark.session import SHORT


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    root = str(Path(__file__).resolve().parents[2])  # workers import test modules that declare operators
    os.environ["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    session = local_session("local[2]", partitions=3, spark_local_dir=tmp_path_factory.mktemp("spark"), **SHORT)
    yield session
    session.stop()
