"""Verified blocks as tables: in files, or as a stream of Arrow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Unpack

from . import _errors, _native
from ._arguments import Options, Path, Paths, flags, there
from ._commands import Boundary, document_of, finished, known, result_of


def export(
    paths: Paths,
    to: Path,
    *,
    tables: str | Iterable[str],
    level: str | None = None,
    chain: Path | None = None,
    partial: bool = False,
    threads: int | None = None,
    hex: bool = False,
    names: str = "etl",
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Verifies an archive and writes it as tables: Parquet files in the folder ``to``.

    Returns the manifest, which stands in ``to`` as well: which files there are, and what was
    verified. ``tables`` are names such as ``blocks`` and ``transactions``. With ``hex``, bytes are
    texts; ``names`` is whose names columns have, ``etl`` or ``cryo``. What is wrong with the
    archive raises as in :func:`verify`, and then there is no manifest.

    >>> manifest = blockmill.export(
    ...     "hive/chain.rlp", "tables", tables=["blocks", "transactions"], seal="off"
    ... )
    >>> manifest["verified"], manifest["first"], manifest["last"]
    ('chain', 1, 3000)
    >>> [(file["table"], file["rows"]) for file in manifest["files"]]
    [('blocks', 3000), ('transactions', 546)]
    """
    given = {"level": level, "chain": chain, "partial": partial, "threads": threads}
    rows = {"to": to, "tables": _names(tables), "hex": hex, "names": names}
    args = [*known({**given, **rows}), *flags(options), *there(paths)]
    finished(_native.answer(["export", *args]))
    with open(os.path.join(to, "manifest.json"), encoding="utf-8") as manifest:
        return json.load(manifest)


def export_unit(
    paths: Paths,
    to: Path,
    *,
    tables: str | Iterable[str],
    after: Boundary | None = None,
    level: str | None = None,
    chain: Path | None = None,
    threads: int | None = None,
    hex: bool = False,
    names: str = "etl",
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Verifies a unit by itself, as :func:`verify_unit` does, and writes its tables.

    Returns ``boundary`` and ``files``: those of an Ethereum archive where it is good, and those of
    a block file of its good blocks in the chain, where ``after`` has its table. Their footers say
    ``verified=unit``: only :func:`join` of all boundaries says that they are a chain.

    >>> unit = blockmill.export_unit(
    ...     "mainnet-1.era1", "units", tables="blocks", level="headers", seal="off"
    ... )
    >>> unit["boundary"]["status"], [file["file"] for file in unit["files"]]
    ('verified', ['mainnet-blocks-000008192-000016383.parquet'])
    """
    given = {"level": level, "chain": chain, "threads": threads}
    rows = {"to": to, "tables": _names(tables), "hex": hex, "names": names}
    args = [*known({**given, **rows}), *flags(options), *there(paths)]
    before = None if after is None else document_of(after)
    return result_of(json.loads(_native.export_unit(args, before)))


def read(
    paths: Paths,
    table: str,
    *,
    level: str | None = None,
    chain: Path | None = None,
    partial: bool = False,
    threads: int | None = None,
    hex: bool = False,
    names: str = "etl",
    **options: Unpack[Options],
) -> Rows:
    """Reads a table of an archive while it is verified.

    Returns a stream of Arrow, which DuckDB, Polars, PyArrow and others take as it is. Only rows of
    blocks that were verified are in it, and as many wait to be read as fit in a few batches.

    >>> rows = blockmill.read("hive/chain.rlp", "transactions", seal="off")
    >>> sum(len(batch) for batch in rows)
    546
    >>> rows.answer["status"]
    'verified'
    """
    given = {"level": level, "chain": chain, "partial": partial, "threads": threads}
    how = {"tables": table, "hex": hex, "names": names}
    args = [*known({**given, **how}), *flags(options), *there(paths)]
    rows, document = _native.read(args)
    if rows is None:
        raise _errors.of(json.loads(document))
    return Rows(rows)


class Rows:
    """The rows of one table, to be read once, by one reader.

    An iterator gives batches, which have Arrow's ``__arrow_c_array__``, and raises at the end what
    :func:`verify` raises. As a whole it has ``__arrow_c_stream__``; whoever reads that has errors
    of its own, with the same message, and :meth:`check` raises ours. Blocks before a fault are
    rows all the same: only the end tells whether the archive is good.

    Closing it, or dropping it, ends the run.
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
        """The answer of the run when the last rows were read; None before."""
        document = self._rows.end()
        return None if document is None else json.loads(document)

    def check(self) -> None:
        """Raises what the end of the rows says; nothing where all is good, or not read yet."""
        document = self._rows.end()
        if document is not None:
            finished(document)

    def close(self) -> None:
        """Ends the run. Rows that were not read are lost."""
        self._rows.close()

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _names(tables: str | Iterable[str]) -> str:
    return tables if isinstance(tables, str) else ",".join(tables)
