"""Keyword arguments as arguments of the command line."""

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
    with_: str | Iterable[str] | Mapping[str, Any]
    chunk: int
    assume_valid: str
    cache: int
    commit_every: int
    label: str
    record: Path
    force: bool


def flags(options: Mapping[str, Any], allowed: Iterable[str] = Options.__annotations__) -> list[str]:
    """The flags of these options, without the options that are None or False."""
    allowed = set(allowed)
    found: list[str] = []
    for name, value in options.items():
        if name not in allowed:
            raise TypeError(f"unexpected option {name!r}; expected one of {sorted(allowed)}")
        found += _flag("--" + name.rstrip("_").replace("_", "-"), value)
    return found


def _flag(flag: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, (str, int, os.PathLike)):
        return [f"{flag}={text(value)}"]
    if isinstance(value, Mapping):
        value = [f"{key}={setting}" for key, setting in value.items()]
    return [f"{flag}={text(each)}" for each in value]


def text(value: Any) -> str:
    """A path or another value as an argument."""
    return os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)


def there(paths: Paths) -> list[str]:
    """These paths as arguments, after the flags.

    Raises FileNotFoundError if a path does not exist, and other subclasses of OSError if it cannot
    be opened.
    """
    each = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not each:
        raise ValueError("expected paths, found none")
    names = [os.fsdecode(path) for path in each]
    for name in names:
        if name != "-":
            os.stat(name)
    return ["--", *names]
