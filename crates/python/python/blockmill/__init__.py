"""Verifies raw blockchain archives, and reads them as Arrow tables.

The functions are commands of the program ``blockmill``: the same options, verdicts and messages.
They work on all cores without the lock of the interpreter, and Ctrl-C ends them.
"""

from ._arguments import Options
from ._commands import inspect, join, verify, verify_unit
from ._errors import (
    Corrupt,
    Error,
    Invalid,
    Incomplete,
    MachineError,
    Unrecognised,
    UsageError,
    VerifyError,
)
from ._native import VERSION as __version__
from ._tables import Rows, export, export_unit, read

__all__ = [
    "Corrupt",
    "Error",
    "Invalid",
    "Incomplete",
    "MachineError",
    "Options",
    "Rows",
    "Unrecognised",
    "UsageError",
    "VerifyError",
    "export",
    "export_unit",
    "inspect",
    "join",
    "read",
    "verify",
    "verify_unit",
]
