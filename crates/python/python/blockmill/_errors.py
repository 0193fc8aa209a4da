"""What can be raised."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """A command that did not do what it was asked for.

    ``answer`` is the whole answer, ``status`` its status in one word, ``message`` the sentence
    that a person reads. ``hint`` is what the reader may not know, or None.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        report = answer.get("error") or {}
        message = report.get("message") or _without_report(answer)
        super().__init__(message)
        self.answer = answer
        self.status: str = answer["status"]
        self.message: str = message
        self.hint: str | None = report.get("hint")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.answer,)

    def __str__(self) -> str:
        return self.message


class UsageError(Error, ValueError):
    """What was asked for cannot be meant so."""


class MachineError(Error, OSError):
    """This machine is in the way: disk full, permission, memory, a device that fails."""


class VerifyError(Error):
    """An archive that is not whole and genuine.

    ``block`` and ``hash`` name the block, ``file`` and ``offset`` say where it stands, ``rule`` is
    the rule that is broken, ``expected`` what it asks for and ``found`` what is there; each is None
    where that is not known. ``shortfalls`` is what the archive lacks.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        report = answer.get("error") or {}
        self.block: int | None = report.get("block")
        self.hash: str | None = report.get("hash")
        self.file: str | None = report.get("file")
        self.offset: int | None = report.get("offset")
        self.rule: str | None = report.get("rule")
        self.expected: str | None = report.get("expected")
        self.found: str | None = report.get("found")
        self.shortfalls: list[dict[str, Any]] = answer.get("shortfalls") or []


class Invalid(VerifyError):
    """A block breaks a rule of its chain."""


class Corrupt(VerifyError):
    """Bytes are not what was written there."""


class Incomplete(VerifyError):
    """What is there is good, but blocks are missing, unconnected or cut."""


class Unrecognised(VerifyError):
    """Nothing is there that can be read, so nothing can be told."""


_BY_STATUS: dict[str, type[Error]] = {
    "invalid": Invalid,
    "corrupt": Corrupt,
    "incomplete": Incomplete,
    "unrecognised": Unrecognised,
    "usage": UsageError,
    "environment": MachineError,
}


def of(answer: dict[str, Any]) -> Error:
    """The exception of an answer that is no success."""
    return _BY_STATUS.get(answer["status"], Error)(answer)


def _without_report(answer: dict[str, Any]) -> str:
    """The sentence of an answer that names no error."""
    texts = [shortfall["text"] for shortfall in answer.get("shortfalls") or []]
    return "; ".join(texts) or answer["status"]
