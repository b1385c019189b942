"""`lookup(table, key, column, ?value)`: the column of a table where `key` equals the event's attribute of that name.

    lookup('vehicles', 'plate', 'owner', ?owner) and ?owner = 'City'

The database is the SQLite or DuckDB (`.duckdb`) file that `TAMIS_DATABASE` names, opened for reading only. Table and column
names are checked against its schema and quoted; values travel as parameters.
"""

import os
import sqlite3
from functools import lru_cache
from pathlib import Path
from typing import Any

from tamis.errors import MissingExtra, OperatorError, nearest
from tamis.model.values import Scalar
from tamis.operators.event import EventView
from tamis.operators.registry import make_operator


def database() -> Any:
    """The connection to the file TAMIS_DATABASE names now."""
    return connection(os.environ.get("TAMIS_DATABASE", ""))


@lru_cache(maxsize=8)
def connection(path: str) -> Any:
    """A read-only connection."""
    if not path or not Path(path).is_file():
        raise OperatorError(f"TAMIS_DATABASE names no database file ({path or 'it is not set'})")
    if path.endswith(".duckdb"):
        try:
            import duckdb
        except ImportError:
            raise MissingExtra("reading a DuckDB file", "bench") from None
        return duckdb.connect(path, read_only=True)
    return sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)


def columns(table: str) -> list[str]:
    """The columns of a table."""
    try:
        empty = database().execute(f"select * from {quoted(table)} limit 0")
    except OperatorError:
        raise
    except Exception:  # each database has its own
        raise OperatorError(f"the database has no table {table!r}") from None
    return [column[0] for column in empty.description]


def known_columns(table: Any, key: Any, column: Any, *rest: Any) -> None:
    """Refuse names the schema lacks."""
    known = columns(str(table))
    for name in (key, column):
        if name not in known:
            raise OperatorError(f"table {table!r} has no column {name!r}{nearest(str(name), known)}")


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def find(event: EventView, table: str, key: str, column: str) -> list[Scalar]:
    """The column's values in the rows whose key is one of the event's values; nulls left out."""
    wanted = event.values_of(key) or (event[key],)
    marks = ", ".join("?" for _ in wanted)
    question = f"select distinct {quoted(column)} from {quoted(table)} where {quoted(key)} in ({marks})"
    rows = database().execute(question, list(wanted)).fetchall()
    return [value for (value,) in rows if value is not None]


lookup = make_operator("lookup", find, outputs=1, cost=2e-4, selectivity=0.5, check=known_columns)
