"""Verifies raw blockchain archives, and reads them as Arrow tables.

Each function is a command of the program ``blockmill``, with the same options, verdicts and
messages. It runs on all cores, releases the global interpreter lock, and stops on Ctrl-C.
"""

from ._arguments import ConvertOptions, Format, ImportOptions, Level, Names, Options
from ._commands import convert, import_, inspect, merge, prove, report, verify, verify_shard
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
from ._tables import Rows, export, export_shard, read, tables

__all__ = [
    "ConvertOptions",
    "Corrupt",
    "Error",
    "Format",
    "ImportOptions",
    "Incomplete",
    "Invalid",
    "Level",
    "MachineError",
    "Names",
    "Options",
    "Rows",
    "Unrecognised",
    "UsageError",
    "VerifyError",
    "convert",
    "export",
    "export_shard",
    "import_",
    "inspect",
    "merge",
    "prove",
    "read",
    "report",
    "tables",
    "verify",
    "verify_shard",
]
