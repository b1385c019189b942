"""One Spark session for all tests of this folder."""

import os
from pathlib import Path

import pytest

from tamis.spark import local_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    root = str(Path(__file__).resolve().parents[2])  # workers import test modules that declare operators
    os.environ["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # tests run short jobs: start quickly rather than run fast
    session = local_session(
        "local[2]",
        partitions=3,
        spark_local_dir=tmp_path_factory.mktemp("spark"),
        spark_driver_extraJavaOptions=quick,
        spark_sql_codegen_wholeStage=False,
        spark_sql_codegen_factoryMode="NO_CODEGEN",
    )
    yield session
    session.stop()
