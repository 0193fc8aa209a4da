"""The commands of the program as functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from . import _native
from ._arguments import (
    ConvertOptions,
    Format,
    ImportOptions,
    Level,
    Options,
    Path,
    Paths,
    flags,
    names,
    there,
)

Summary = Mapping[str, Any] | str | bytes


def verify(
    paths: Paths,
    *,
    level: Level | None = None,
    chain: Path | None = None,
    partial: bool = False,
    threads: int | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Verifies an archive: files or folders of one chain.

    Returns the answer of ``blockmill verify --json``; its ``result`` is the run record. ``level``
    is ``headers``, ``bodies`` or ``execution``; the default is the deepest level that the archive
    supports. ``chain`` names the network or its genesis.json if it is not detected. With
    ``partial``, blocks may be missing.

    >>> answer = blockmill.verify("sepolia.era1", level="headers", seal="1/1000", seal_seed=1)
    >>> answer["status"], answer["result"]["data"]["blocks"]
    ('verified', 8192)

    An archive that is not complete and valid raises :class:`Invalid`, :class:`Corrupt`,
    :class:`Incomplete` or :class:`Unrecognised`, with the place and the reason:

    >>> try:
    ...     blockmill.verify("hive/damaged.rlp", level="bodies", seal="off")
    ... except blockmill.VerifyError as error:
    ...     print(error.status, error.block, error.rule)
    invalid 1647 logs bloom
    """
    given = {"level": level, "chain": chain, "partial": partial, "threads": threads}
    return _native.verify(there(paths), {**given, **options})


def verify_shard(
    paths: Paths,
    *,
    after: Summary | None = None,
    level: Level | None = None,
    chain: Path | None = None,
    threads: int | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Verifies a shard: an Ethereum archive, or Bitcoin block files, as a part of a longer chain.

    Returns the shard summary, the document of ``blockmill verify --shard``. :func:`merge` computes
    the verdict from the summaries of all shards. ``after`` is the summary of all earlier blocks, if
    it is known. Invalid blocks do not raise: see ``status``, ``fault`` and ``shortfalls``. Files
    that cannot be opened as an archive do raise.

    Bitcoin block files take two steps. The first call returns their headers. :func:`merge` of all
    headers returns a table for each shard; with that table as ``after``, the second call verifies
    the bodies. At level ``execution`` with ``with_="coins=multiset"``, the ``chainstate`` of the
    datadir is a shard, too, and ``after`` is the text of all documents that the merge returned (or
    of ``execution`` and the shard's own document), one a line.

    >>> summary = blockmill.verify_shard("mainnet-1.era1", level="headers", seal="off")
    >>> summary["status"], summary["first"]["number"], summary["blocks"]
    ('verified', 8192, 8192)
    """
    given = {"level": level, "chain": chain, "threads": threads}
    return _native.verify_shard(there(paths), after, {**given, **options})


def merge(
    summaries: Iterable[Summary],
    *,
    level: Level | None = None,
    chain: Path | None = None,
    partial: bool = False,
    of: Paths | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Merges the summaries of all shards of a chain into the verdict of a single run over them.

    Returns the answer of ``blockmill verify --merge --json``: ``status``, ``error`` (the first
    fault, or None), ``shortfalls``, ``notes``, and in ``result`` the summary of all shards, which
    can be merged again. A verdict of any status is returned. Only summaries that do not belong
    together raise.

    For Bitcoin block files, ``level`` is the level of the verdict, and ``of`` the archive that the
    shards are parts of; missing files of that folder are reported as shortfalls. While bodies
    remain to be verified, ``result`` is the list of their tables.

    >>> parts = ["mainnet-0.era1", "mainnet-1.era1"]
    >>> options = {"level": "headers", "seal": "off"}
    >>> answer = blockmill.merge(blockmill.verify_shard(part, **options) for part in parts)
    >>> answer["status"], answer["result"]["blocks"]
    ('verified', 16384)
    """
    given = {"level": level, "chain": chain, "partial": partial}
    answer, documents = _native.merge(summaries, names(of or []), {**given, **options})
    if documents is not None:
        answer["result"] = [document for document, _ in documents]
    return answer


def inspect(paths: Paths, *, deep: bool = False) -> dict[str, Any]:
    """Describes an archive: format, chain, range, gaps, corruption.

    Returns the answer of ``blockmill inspect --json``, also for corrupt archives. With ``deep``
    every record is read and decoded.

    >>> answer = blockmill.inspect("sepolia.era1")
    >>> file = answer["result"]["files"][0]
    >>> file["format"], file["network"], file["blocks"]
    ('era1', 'sepolia', 8192)
    """
    return _native.inspect(there(paths), deep)


def import_(
    paths: Paths,
    data: Path,
    *,
    level: Level | None = None,
    chain: Path | None = None,
    partial: bool = False,
    threads: int | None = None,
    **options: Unpack[ImportOptions],
) -> dict[str, Any]:
    """Verifies an archive and stores it in the folder ``data``. Resumes where an earlier run
    stopped.

    Returns the answer of ``blockmill import --json``; its ``result`` is the run record. Raises as
    :func:`verify` does; blocks before a fault are stored.

    >>> answer = blockmill.import_("hive/chain.rlp", "store", level="bodies", seal="off")
    >>> answer["status"], answer["result"]["data"]["blocks"]
    ('verified', 3000)
    """
    given = {"level": level, "chain": chain, "partial": partial, "threads": threads, "data": data}
    return _native.command(["import", *flags({**given, **options}), "--", *there(paths)])


def convert(
    paths: Paths,
    to: Format,
    out: Path,
    *,
    chain: Path | None = None,
    partial: bool = False,
    **options: Unpack[ConvertOptions],
) -> dict[str, Any]:
    """Writes an archive in another format, to the file or folder ``out``.

    Returns the answer of ``blockmill convert --json``. Raises as :func:`verify` does.

    >>> blockmill.convert("mainnet-0.era1", "headers", "headers.rlp")["status"]
    'ok'
    """
    given = {"to": to, "out": out, "chain": chain, "partial": partial}
    return _native.command(["convert", *flags({**given, **options}), "--", *there(paths)])


def report(records: Paths, out: Path = "blockmill-report") -> dict[str, Any]:
    """Draws run records, or folders of them: tables, charts and one HTML page in the folder
    ``out``.

    Returns the answer of ``blockmill report --json``.

    >>> answer = blockmill.verify("sepolia.era1", level="headers", seal="off", record="run.json")
    >>> len(blockmill.report("run.json", "report")["result"]["runs"])
    1
    """
    return _native.command(["report", *flags({"out": out}), "--", *there(records)])


def prove(
    data: Path, account: str, *, slots: str | Iterable[str] = (), block: int | None = None
) -> dict[str, Any]:
    """Proves an account and slots of its storage, from a store of executed Ethereum blocks.

    Returns the answer of ``blockmill prove --json``; ``result`` has the proof as ``eth_getProof``
    returns it, with the block and its state root. ``block`` is the last one unless it is given.

    >>> blockmill.import_("hive/chain.rlp", "state", seal="off")["status"]
    'verified'
    >>> found = blockmill.prove("state", "0x" + "00" * 20)["result"]
    >>> found["block"], found["proof"]["address"] == "0x" + "00" * 20
    (3000, True)
    """
    given = {"account": account, "slot": slots, "block": block}
    return _native.command(["prove", *flags(given), "--", *there(data)])
