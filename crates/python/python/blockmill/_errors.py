"""The exceptions of the package."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """A command failed.

    ``answer`` is the complete answer, ``status`` its status in one word, and ``message`` the
    sentence for people. ``hint`` is advice, or None.
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
    """The arguments are invalid or contradict each other."""


class MachineError(Error, OSError):
    """This machine prevents the command: disk full, permissions, memory, a failing device."""


class VerifyError(Error):
    """An archive is not complete and valid.

    ``block`` and ``hash`` name the block, ``file`` and ``offset`` its position, ``rule`` the broken
    rule, ``expected`` the value that the rule requires and ``found`` the value in the archive. Each
    is None if it is unknown. ``shortfalls`` lists what the archive lacks.
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
    """Stored bytes differ from the bytes that were written."""


class Incomplete(VerifyError):
    """The blocks found are valid, but blocks are missing, not connected or truncated."""


class Unrecognised(VerifyError):
    """No readable archive was found, so there is no verdict."""


_BY_STATUS: dict[str, type[Error]] = {
    "invalid": Invalid,
    "corrupt": Corrupt,
    "incomplete": Incomplete,
    "unrecognised": Unrecognised,
    "usage": UsageError,
    "environment": MachineError,
}


def of(answer: dict[str, Any]) -> Error:
    """The exception for an answer that is not a success."""
    return _BY_STATUS.get(answer["status"], Error)(answer)


def _without_report(answer: dict[str, Any]) -> str:
    """The message for an answer without an error."""
    texts = [shortfall["text"] for shortfall in answer.get("shortfalls") or []]
    return "; ".join(texts) or answer["status"]
