"""The gazetteer: names of places → shapes, in an SQLite table.

The shipped table has rough outlines of New York City's boroughs and some places there. `TAMIS_GAZETTEER` names another
SQLite file with a table `places(name, wkt)`; shapes are WKT in longitude and latitude.
"""

import csv
import os
import sqlite3
from functools import lru_cache
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

import shapely

from tamis.errors import OperatorError, nearest


@lru_cache(maxsize=1)
def table() -> sqlite3.Connection:
    """The table, opened read-only, or made in memory from the shipped list."""
    chosen = os.environ.get("TAMIS_GAZETTEER")
    if chosen:
        if not Path(chosen).is_file():
            raise OperatorError(f"TAMIS_GAZETTEER names {chosen}, which is not a file")
        return sqlite3.connect(f"{Path(chosen).resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    memory = sqlite3.connect(":memory:", check_same_thread=False)
    memory.execute("create table places (name text primary key, kind text, wkt text not null)")
    rows = csv.reader(StringIO(files("tamis.operators.data").joinpath("gazetteer.csv").read_text(encoding="utf-8")))
    next(rows)
    memory.executemany("insert into places values (?, ?, ?)", rows)
    return memory


@lru_cache(maxsize=4096)
def shape(name: str) -> Any:
    """The shape of a place, prepared for many questions, or an error with the nearest name."""
    found = table().execute("select wkt from places where name = ?", (name,)).fetchone()
    if found is None:
        raise OperatorError(f"the gazetteer has no place {name!r}{nearest(name, names())}")
    geometry = shapely.from_wkt(found[0])
    shapely.prepare(geometry)
    return geometry


def names() -> list[str]:
    """All places there are."""
    return [name for (name,) in table().execute("select name from places order by name")]
