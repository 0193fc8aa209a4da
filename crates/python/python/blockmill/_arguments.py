"""Arguments of the functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict, Union

Path = Union[str, os.PathLike]
Paths = Union[Path, Iterable[Path]]


# how deep blocks are verified
Level = Literal["headers", "bodies", "execution"]
# whose names columns and files have
Names = Literal["etl", "cryo"]
# formats that are written
Format = Literal[
    "era1",
    "ere",
    "snapshot",
    "state-jsonl",
    "freezer",
    "rlp",
    "rlp-gz",
    "headers",
    "blk",
    "core",
    "acc",
    "acc-gz",
    "neo-go",
]


class Options(TypedDict, total=False):
    """Options of verification. They are the flags of the program (``blockmill verify --help``),
    with underscores; ``from_`` and ``with_`` are ``--from`` and ``--with``.

    ``seal``: proof-of-work seals of Ethereum to check, ``off``, ``all`` (the default) or ``1/N``.
    ``seal_seed``: the seed of that sample; random unless it is given.
    ``now``: the time in seconds since 1970, instead of the clock; later blocks are invalid.
    ``ethash_cache``: a folder that keeps ethash caches for later runs.
    ``from_``, ``until``: the first and the last block, by number.
    ``trust``: block hashes of Ethereum that the chain must contain.
    ``beacon_roots``: an era file, a folder of them, or a text with a root in each line; proofs in
    ere files are compared with these roots.
    ``with_``: settings of the engine, such as ``hash=single``, or a mapping of them
    (docs/reference/options.md).
    ``chunk``: headers, or blocks of Neo, that are read at once.
    ``assume_valid``: a block hash of Bitcoin or Neo; scripts or witnesses up to it are not run.
    ``cache``: MiB of memory for coins, or for changes of the state.
    ``commit_every``: the most seconds between two commits.
    ``label``: the name of the run in its record.
    ``record``: a file for the run record.
    ``force``: replace files of an earlier run.
    ``cache_dir``: for URLs, a folder that keeps what is fetched.
    ``manifest``: for URLs, a file or URL that lists the files of the folder.
    """

    seal: Literal["off", "all"] | str
    seal_seed: int
    now: int
    ethash_cache: Path
    from_: int
    until: int
    trust: str | Iterable[str]
    beacon_roots: Path
    with_: str | Iterable[str] | Mapping[str, Any]
    chunk: int
    assume_valid: str
    cache: int
    commit_every: int
    label: str
    record: Path
    force: bool
    cache_dir: Path
    manifest: Path


class ImportOptions(Options, total=False):
    """Options of an import: those of verification, and these flags of ``blockmill import``.

    ``state``: a dump of the state after the last block; ``block``: archives of blocks before it.
    ``history``: keep the state of Neo as of every block.
    ``unwind_depth``: how many blocks can be unwound, at least.
    """

    state: Path
    block: Path | Iterable[Path]
    history: bool
    unwind_depth: int


class ConvertOptions(TypedDict, total=False):
    """Options of a conversion, the flags of ``blockmill convert``.

    ``from_``, ``until``: the first and the last block, by number.
    ``data``: for ``core``, the store of an import, which is brought up to date and kept.
    ``assume_valid``: for ``core``, a block hash; scripts up to it are not run.
    ``cache``: for ``core``, MiB of memory for coins.
    ``copy``: for ``core``, copy blocks where files could be linked.
    ``xor``: for ``blk``, obfuscate the files with a random key.
    ``force``: replace files of an earlier run.
    ``no_space_check``: begin even if the disk has too little room.
    """

    from_: int
    until: int
    data: Path
    assume_valid: str
    cache: int
    copy: bool
    xor: bool
    force: bool
    no_space_check: bool


SCHEMES = ("http://", "https://", "s3://", "gs://", "az://")


def is_url(name: str) -> bool:
    """Returns whether this is the URL of a remote archive."""
    return name.startswith(SCHEMES)


def names(paths: Paths) -> list[str]:
    """The names of these paths."""
    each = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return [os.fsdecode(path) for path in each]


def there(paths: Paths) -> list[str]:
    """The names of these paths, at least one.

    Raises FileNotFoundError if a path does not exist, and other subclasses of OSError if it cannot
    be opened.
    """
    found = names(paths)
    if not found:
        raise ValueError("expected paths, found none")
    for name in found:
        if name != "-" and not is_url(name):
            os.stat(name)
    return found


def flags(options: Mapping[str, Any]) -> list[str]:
    """The command line of these options. None and False are left out."""
    words = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if isinstance(value, bool) or value is None:
            words += [flag] if value else []
            continue
        if isinstance(value, Mapping):
            value = [f"{key}={one}" for key, one in value.items()]
        elif isinstance(value, (str, int, os.PathLike)):
            value = [value]
        texts = (os.fsdecode(one) if isinstance(one, os.PathLike) else one for one in value)
        words += [f"{flag}={text}" for text in texts]
    return words
