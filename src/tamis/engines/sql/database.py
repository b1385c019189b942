"""The two databases the `sql` engine speaks to, behind one small interface. Each engine has a schema of its own."""

import secrets
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamis.encoding.keys import Int32Array, Int64Array
from tamis.errors import EngineError, MissingExtra

Columns = tuple[NDArray[Any], ...]
COPY_HEADER, COPY_END, COPY_ROWS = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff", 100_000


class Database(Protocol):
    """Creates, loads, deletes from and asks the tables of one engine."""

    name: str

    def create(self, table: str, columns: str) -> None:
        """Make an empty table."""

    def index(self, table: str, column: str) -> None:
        """Make an index where the database profits from one."""

    def load(self, table: str, columns: Columns) -> None:
        """Append parallel columns."""

    def delete(self, table: str, sids: Int32Array) -> None:
        """Delete the rows of these conjunctions."""

    def prepare(self, query: str) -> str:
        """The query with this database's parameters and schema in their places."""
        ...

    def ask(self, query: str, columns: Columns) -> tuple[Int64Array, Int64Array]:
        """Run a prepared query over the event pairs; two integer columns come back."""
        ...

    def bytes_held(self) -> int:
        """What tables and indexes take."""
        ...


class DuckDb:
    """An in-memory DuckDB of its own."""

    name = "duckdb"

    def __init__(self) -> None:
        try:
            import duckdb
        except ImportError:
            raise MissingExtra("matching inside DuckDB", "bench") from None
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute("SET enable_progress_bar = false")  # it would draw on our output after two seconds

    def create(self, table: str, columns: str) -> None:
        """Plain tables: a column store needs no further help."""
        self.connection.execute(f"CREATE TABLE {table} ({columns})")

    def index(self, table: str, column: str) -> None:
        """DuckDB joins by hashing and scanning; an index would only cost memory."""

    def load(self, table: str, columns: Columns) -> None:
        """From Arrow, without copying."""
        if len(columns[0]):
            fresh = pa.table([pa.array(column) for column in columns], names=[f"c{i}" for i in range(len(columns))])
            self.connection.register("fresh", fresh)
            self.connection.execute(f"INSERT INTO {table} SELECT * FROM fresh")
            self.connection.unregister("fresh")

    def delete(self, table: str, sids: Int32Array) -> None:
        """By a list parameter."""
        self.connection.execute(f"DELETE FROM {table} WHERE sid IN (SELECT unnest($1::INTEGER[]))", [sids.tolist()])

    def prepare(self, query: str) -> str:
        """Lists as parameters."""
        return query.format("$1::BIGINT[]", "$2::INTEGER[]", "$3::BIGINT[]", schema="main")

    def ask(self, query: str, columns: Columns) -> tuple[Int64Array, Int64Array]:
        """Answer as NumPy columns."""
        answer = self.connection.execute(query, [column.tolist() for column in columns]).fetchnumpy()
        event, sid = (np.asarray(column).astype(np.int64) for column in answer.values())
        return event, sid

    def bytes_held(self) -> int:
        """Tables in memory, as DuckDB counts them."""
        query = "SELECT coalesce(sum(memory_usage_bytes), 0)::BIGINT FROM duckdb_memory()"
        return int(self.connection.execute(query).fetchall()[0][0])


class PostgreSql:
    """A schema in a PostgreSQL database, dropped when the engine goes."""

    name = "postgresql"

    def __init__(self, dsn: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("matching inside PostgreSQL", "bench") from None
        try:
            self.connection = psycopg.connect(dsn, autocommit=True, connect_timeout=5)
        except psycopg.Error as problem:
            reason = " ".join(str(problem).split())
            raise EngineError(f"cannot reach PostgreSQL at {address(dsn)}: {reason}") from None
        self.schema = f"tamis_{secrets.token_hex(6)}"
        self.connection.execute(f"CREATE SCHEMA {self.schema}")

    def __del__(self) -> None:
        if hasattr(self, "schema") and not self.connection.closed:
            self.connection.execute(f"DROP SCHEMA {self.schema} CASCADE")
            self.connection.close()

    def create(self, table: str, columns: str) -> None:
        """Unlogged: the subscriptions are kept elsewhere, a crash may empty the index."""
        self.connection.execute(f"CREATE UNLOGGED TABLE {self.schema}.{table} ({columns})")

    def index(self, table: str, column: str) -> None:
        """A B-tree, and fresh statistics for the planner."""
        self.connection.execute(f"CREATE INDEX ON {self.schema}.{table} ({column})")
        self.connection.execute(f"ANALYZE {self.schema}.{table}")

    def load(self, table: str, columns: Columns) -> None:
        """By COPY in its binary form, a block of rows at a time."""
        with self.connection.cursor().copy(f"COPY {self.schema}.{table} FROM STDIN (FORMAT binary)") as copy:
            copy.write(COPY_HEADER)
            for start in range(0, len(columns[0]), COPY_ROWS):
                copy.write(copy_rows(tuple(column[start : start + COPY_ROWS] for column in columns)))
            copy.write(COPY_END)

    def delete(self, table: str, sids: Int32Array) -> None:
        """By an array parameter."""
        self.connection.execute(f"DELETE FROM {self.schema}.{table} WHERE sid = ANY(%s)", [sids.tolist()])

    def prepare(self, query: str) -> str:
        """Arrays as parameters; psycopg prepares a statement on the server after its fifth use."""
        return query.format("%s::BIGINT[]", "%s::INTEGER[]", "%s::BIGINT[]", schema=self.schema)

    def ask(self, query: str, columns: Columns) -> tuple[Int64Array, Int64Array]:
        """Answer as NumPy columns."""
        rows = self.connection.execute(query, [column.tolist() for column in columns]).fetchall()
        answer = np.array(rows, np.int64).reshape(-1, 2)
        return answer[:, 0], answer[:, 1]

    def bytes_held(self) -> int:
        """Tables with their indexes."""
        query = (
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::BIGINT FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = %s::regnamespace"
        )
        return int(self.connection.execute(query, [self.schema]).fetchall()[0][0])


def copy_rows(columns: Columns) -> bytes:
    """Rows as COPY reads them: the number of fields, then for each its length and its bytes, all big-endian."""
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for i, column in enumerate(columns):
        layout += [(f"length{i}", ">i4"), (f"value{i}", column.dtype.newbyteorder(">").str)]
    rows = np.empty(len(columns[0]), np.dtype(layout))
    rows["fields"] = len(columns)
    for i, column in enumerate(columns):
        rows[f"length{i}"], rows[f"value{i}"] = column.dtype.itemsize, column
    return rows.tobytes()


def connect(database: str, dsn: str) -> Database:
    """A database by name."""
    if database == "duckdb":
        return DuckDb()
    if database != "postgresql":
        raise EngineError(f"engine 'sql' knows no database {database!r} (databases: duckdb, postgresql)")
    if not dsn:
        raise EngineError("engine 'sql' on PostgreSQL needs dsn='host=… dbname=…'")
    return PostgreSql(dsn)


def address(dsn: str) -> str:
    """A server's address as it may be told: without the password."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    try:
        parts = conninfo_to_dict(dsn)
    except ProgrammingError:
        return "the address given"
    return repr(make_conninfo("", **{**parts, "password": None}))
