"""Arguments of the functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Union

Path = Union[str, os.PathLike]
Paths = Union[Path, Iterable[Path]]


class Options(TypedDict, total=False):
    """Options of verification. They are the flags of the program (``blockmill verify --help``),
    with underscores; ``from_`` and ``with_`` are ``--from`` and ``--with``.
    """

    seal: str
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
