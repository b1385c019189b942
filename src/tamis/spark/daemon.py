"""What Spark starts to fork its Python workers from, with everything a task needs imported beforehand.

A worker then starts at once, and the pages of the imported modules are shared by all workers of a node. `local_session` asks
for it; elsewhere set `spark.python.daemon.module` to `tamis.spark.daemon`.
"""

from pyspark.daemon import manager

import tamis.spark  # noqa: F401

if __name__ == "__main__":
    manager()
