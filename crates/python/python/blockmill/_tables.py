"""Verified blocks as tables: Parquet files, or an Arrow stream."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Unpack

from . import _native
from ._arguments import Level, Names, Options, Path, Paths, there
from ._commands import Summary

DEFAULT_TABLES = "blocks,transactions"


def export(
    paths: Paths,
    to: Path,
    *,
    tables: str | Iterable[str] = DEFAULT_TABLES,
    level: Level | None = None,
    chain: Path | None = None,
    partial: bool = False,
    threads: int | None = None,
    hex: bool = False,
    names: Names = "etl",
    partition: str | None = None,
    append: bool = False,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Verifies an archive and writes it as tables: Parquet files in the folder ``to``.

    Returns the manifest, which is also written to ``to``: the files and what was verified.
    ``tables`` are names such as ``blocks`` and ``transactions``, or ``all``: every table that this
    level and archive give. With ``hex``, bytes are text.
    ``names`` is the naming scheme of columns, ``etl`` or ``cryo``. With ``partition``, ``blocks=N``
    or ``date``, blocks are in folders of their table, as Hive names them. With ``append``, the
    export in ``to`` is continued with the blocks after its last one. An archive that is not
    complete and valid raises as in :func:`verify`, and no manifest is written.

    >>> manifest = blockmill.export(
    ...     "hive/chain.rlp", "tables", tables=["blocks", "transactions"], seal="off"
    ... )
    >>> manifest["verified"], manifest["first"], manifest["last"]
    ('chain', 1, 3000)
    >>> [(file["table"], file["rows"]) for file in manifest["files"]]
    [('blocks', 3000), ('transactions', 546)]
    """
    given = {"level": level, "chain": chain, "partial": partial, "threads": threads}
    written = ((tables, hex, names), partition, append)
    _native.export(there(paths), to, written, {**given, **options})
    with open(os.path.join(to, "manifest.json"), encoding="utf-8") as manifest:
        return json.load(manifest)


def export_shard(
    paths: Paths,
    to: Path,
    *,
    tables: str | Iterable[str] = DEFAULT_TABLES,
    after: Summary | None = None,
    level: Level | None = None,
    chain: Path | None = None,
    threads: int | None = None,
    hex: bool = False,
    names: Names = "etl",
    partition: str | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Verifies a shard, as :func:`verify_shard` does, and writes its tables.

    Returns ``summary`` and ``files``. The tables of an Ethereum archive are written if it is valid;
    those of a block file have its valid blocks in the chain, if ``after`` has its table. Their
    footers say ``verified=partition``: only :func:`merge` of all summaries verifies that the shards
    are one chain.

    >>> shard = blockmill.export_shard(
    ...     "mainnet-1.era1", "shards", tables="blocks", level="headers", seal="off"
    ... )
    >>> shard["summary"]["status"], [file["file"] for file in shard["files"]]
    ('verified', ['mainnet-blocks-000008192-000016383.parquet'])
    """
    given = {"level": level, "chain": chain, "threads": threads}
    written = ((tables, hex, names), partition, False)
    return _native.export_shard(there(paths), to, written, after, {**given, **options})


def read(
    paths: Paths,
    table: str,
    *,
    level: Level | None = None,
    chain: Path | None = None,
    partial: bool = False,
    threads: int | None = None,
    hex: bool = False,
    names: Names = "etl",
    **options: Unpack[Options],
) -> Rows:
    """Reads a table of an archive while the archive is verified.

    Returns an Arrow stream, which DuckDB, Polars, PyArrow and others accept as it is. It has only
    rows of verified blocks. A few batches are buffered; verification waits for the reader.

    >>> rows = blockmill.read("hive/chain.rlp", "transactions", seal="off")
    >>> sum(len(batch) for batch in rows)
    546
    >>> rows.answer["status"]
    'verified'
    """
    given = {"level": level, "chain": chain, "partial": partial, "threads": threads}
    return Rows(_native.read(there(paths), (table, hex, names), {**given, **options}))


def tables(*, hex: bool = False, names: Names = "etl") -> list[dict[str, str | None]]:
    """Lists the columns of all tables: ``chain``, ``table``, ``column``, ``type``, and in ``about``
    what a value is, with its unit. A column with a ``null_below_level`` is null in rows of blocks
    that were not verified as deep as that.

    >>> columns = blockmill.tables()
    >>> [it["type"] for it in columns if (it["table"], it["column"]) == ("outputs", "value")]
    ['int64']
    >>> {it["null_below_level"] for it in columns if it["column"] == "exception"}
    {'execution'}
    >>> sorted({it["table"] for it in columns if it["chain"] == "neo"})
    ['blocks', 'notifications', 'transactions', 'transfers']
    """
    return _native.columns(hex, names)


class Rows:
    """The rows of one table. They can be read once, by one reader.

    Iteration yields batches with Arrow's ``__arrow_c_array__``, and raises at the end what
    :func:`verify` raises. The object also has ``__arrow_c_stream__``; a consumer of that stream
    raises its own error with the same message, and :meth:`check` raises ours. Rows of blocks before
    a fault are delivered: the archive is verified only if the stream ends without an error.

    Closing or dropping the object stops the run.
    """

    def __init__(self, rows: _native.Rows) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[_native.Batch]:
        while (batch := self._rows.next()) is not None:
            yield batch
        self.check()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.stream()

    def __arrow_c_schema__(self) -> object:
        return self._rows.schema()

    @property
    def answer(self) -> dict[str, Any] | None:
        """The answer of the run after the last rows were read, or None before that."""
        return self._rows.answer()

    def check(self) -> None:
        """Raises the error of the run, if the run has ended with one."""
        self._rows.check()

    def close(self) -> None:
        """Stops the run. Unread rows are lost."""
        self._rows.close()

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
