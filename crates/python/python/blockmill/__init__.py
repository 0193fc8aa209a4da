"""Verifies raw blockchain archives, and reads them as Arrow tables.

Each function is a command of the program ``blockmill``, with the same options, verdicts and
messages. It runs on all cores, releases the global interpreter lock, and stops on Ctrl-C.
"""

from ._arguments import Options
from ._commands import inspect, merge, verify, verify_shard
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
from ._tables import Rows, export, export_shard, read

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
    "export_shard",
    "inspect",
    "merge",
    "read",
    "verify",
    "verify_shard",
]
