"""The commands of the program as functions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from . import _errors, _native
from ._arguments import Options, Path, Paths, flags, there

Boundary = Mapping[str, Any] | str | bytes


def verify(
    paths: Paths,
    *,
    level: str | None = None,
    chain: Path | None = None,
    partial: bool = False,
    threads: int | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Verifies an archive: files or folders of one chain.

    Returns the answer of ``blockmill verify --json``; its ``result`` is the record of the run.
    ``level`` is how deep: ``headers``, ``bodies`` or ``execution``, the default where it can be
    done. ``chain`` names the network or its genesis.json where it is not detected. Blocks may be
    missing where ``partial`` is true.

    >>> answer = blockmill.verify("sepolia.era1", level="headers", seal="1/1000", seal_seed=1)
    >>> answer["status"], answer["result"]["data"]["blocks"]
    ('verified', 8192)

    An archive that is not whole and genuine raises :class:`Invalid`, :class:`Corrupt`,
    :class:`Incomplete` or :class:`Unrecognised`, which say where and why:

    >>> try:
    ...     blockmill.verify("hive/damaged.rlp", level="bodies", seal="off")
    ... except blockmill.VerifyError as error:
    ...     print(error.status, error.block, error.rule)
    invalid 1647 logs bloom
    """
    given = {"level": level, "chain": chain, "partial": partial, "threads": threads}
    return finished(_native.answer(["verify", *known(given), *flags(options), *there(paths)]))


def verify_unit(
    paths: Paths,
    *,
    after: Boundary | None = None,
    level: str | None = None,
    chain: Path | None = None,
    threads: int | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Verifies an Ethereum archive, or Bitcoin block files, as a part of a longer chain.

    Returns its boundary, the document of ``blockmill verify --unit``; :func:`join` makes one
    verdict of the boundaries of all parts. ``after`` is the boundary of all blocks before, where
    it is known. What is wrong with blocks stands in ``status``, ``fault`` and ``shortfalls`` and
    raises nothing; what cannot be opened as an archive does raise. Block files take two steps: at
    first their headers are returned; ``after`` is then their table among those that a join of all
    headers returns, and their bodies are verified. At level ``execution`` with
    ``with_="coins=sum"`` the ``chainstate`` of their datadir is a unit, too, and ``after`` is the
    text of all documents that the join returns, or of ``execution`` and the unit's own, one a line.

    >>> boundary = blockmill.verify_unit("mainnet-1.era1", level="headers", seal="off")
    >>> boundary["status"], boundary["first"]["number"], boundary["blocks"]
    ('verified', 8192, 8192)
    """
    given = known({"level": level, "chain": chain, "threads": threads})
    before = None if after is None else document_of(after)
    answer = json.loads(
        _native.verify_unit([*given, *flags(options), *there(paths)], before)
    )
    return result_of(answer)


def join(
    boundaries: Iterable[Boundary],
    *,
    level: str | None = None,
    chain: Path | None = None,
    partial: bool = False,
    of: Paths | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Joins the boundaries of all parts of a chain: the verdict of a single run over all of them.

    Returns the answer of ``blockmill verify --join --json``: ``status``, ``error`` (the first
    fault, or None), ``shortfalls``, ``notes``, and in ``result`` the boundary of all, which can be
    joined again. A verdict of any kind is returned; only boundaries that do not belong together
    raise. Of block files ``level`` is that of the verdict, and ``of`` the archive that they are
    units of, where that is a folder: what is missing in it is told, too. While bodies are yet to be
    verified, ``result`` is the list of their tables.

    >>> parts = ["mainnet-0.era1", "mainnet-1.era1"]
    >>> options = {"level": "headers", "seal": "off"}
    >>> answer = blockmill.join(blockmill.verify_unit(part, **options) for part in parts)
    >>> answer["status"], answer["result"]["blocks"]
    ('verified', 16384)
    """
    archive = [of] if isinstance(of, (str, os.PathLike)) else list(of or [])
    given = {"level": level, "chain": chain, "partial": partial, "of": archive}
    answer = json.loads(text_of_join(boundaries, given, options))
    result_of(answer)
    return answer


def text_of_join(
    boundaries: Iterable[Boundary], given: Mapping[str, Any], options: Mapping[str, Any]
) -> str:
    """The answer of a join as text: of a million blocks it takes many times that as values."""
    documents = [document_of(boundary) for boundary in boundaries]
    return _native.join(documents, [*known(given), *flags(options)])


def inspect(paths: Paths, *, deep: bool = False) -> dict[str, Any]:
    """Says what is in an archive: format, chain, range, gaps, damage.

    Returns the answer of ``blockmill inspect --json``, for damaged archives, too. With ``deep``
    every record is read and decoded.

    >>> answer = blockmill.inspect("sepolia.era1")
    >>> file = answer["result"]["files"][0]
    >>> file["format"], file["network"], file["blocks"]
    ('era1', 'sepolia', 8192)
    """
    answer = json.loads(_native.answer(["inspect", *known({"deep": deep}), *there(paths)]))
    result_of(answer)
    return answer


def finished(document: str) -> dict[str, Any]:
    """An answer; raises unless it is a success."""
    answer = json.loads(document)
    if answer["exit_code"] != 0:
        raise _errors.of(answer)
    return answer


def result_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The command's own part of an answer; raises where there is none."""
    if answer["result"] is None:
        raise _errors.of(answer)
    return answer["result"]


def known(given: Mapping[str, Any]) -> list[str]:
    """The flags of arguments that have names of their own."""
    return flags(given, given)


def document_of(boundary: Boundary) -> str:
    if isinstance(boundary, bytes):
        return boundary.decode()
    return boundary if isinstance(boundary, str) else json.dumps(boundary)
