"""One Spark session for all tests of this folder."""

import pytest

from tamis.spark import local_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # tests run short jobs: start quickly rather than run fast
    session = local_session(
        "local[2]",
        partitions=3,
        spark_local_dir=tmp_path_factory.mktemp("spark"),
        spark_driver_extraJavaOptions=quick,
    )
    yield session
    session.stop()
