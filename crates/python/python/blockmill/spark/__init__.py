"""Verifies whole archives on Apache Spark, or on another engine with its protocol. A file of an
archive is a shard, and a shard is a task.

Workers need this package, and access to the files. Each shard has a row in `shards/` in the folder
of results, even if it is invalid. Only errors of a machine raise, so that the engine tries the task
again. The driver merges the summaries; the verdict is that of a single run.
"""

import json
import secrets
import time
from pathlib import Path

import blockmill

from .._tables import DEFAULT_TABLES
from . import verdict
from .folder import Folder, archives, is_block_file, is_of_coins, local, text_next_to
from .rows import Rows
from .worker import Job

__all__ = ["export", "verify"]


def verify(spark, paths, to, **asked):
    """Verifies archives. Returns the verdict of `blockmill verify` over all of them.

    `paths` are files, or folders of archives; `to` is the folder of results. `level` (bodies),
    `partial`, `chain`, `seal`, `seal_seed`, `now`, `trust` and `assume_valid` are as on the command
    line. The first run in `to` fixes the last six for later runs, unless the caller sets them.
    Shards that have a row there for the same files, level, options and revision are not verified
    again.

    At level `execution`, `paths` is a datadir of Bitcoin Core. A coin multiset hash proves its undo
    data and unspent coins, as `coins=multiset` does on one machine. The salt of the hash is in
    `to`: whoever can read `to` must not be able to write the datadir during the run.
    """
    return run(spark, paths, str(to), **asked)


def export(spark, paths, to, tables=DEFAULT_TABLES, hex=False, names="etl", partition=None, **asked):
    """Verifies archives as `verify` does, and writes tables in Parquet to `to`, with `partition` in
    folders as `blockmill.export` does. `tables` are names, or a text of them with commas, or `all`.

    If all shards are one verified chain, `manifest.json` is written. Results are in the subfolder
    `_blockmill`.
    """
    asked_for = tables.split(",") if isinstance(tables, str) else list(tables)
    tables = {"tables": asked_for, "hex": hex, "names": names}
    # rows of earlier runs are those without partitions
    tables |= {"partition": partition} if partition else {}
    return run(spark, paths, f"{to}/_blockmill", to=str(to), tables=tables, **asked)


def run(spark, paths, state, to=None, tables=None, level="bodies", partial=False, **asked):
    """Verifies the shards without a row, and merges the rows of all shards."""
    folder = Folder(state)
    paths = [str(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    shards = archives(paths, with_coins=level == "execution")
    if level == "execution" and not any(is_of_coins(shard.url) for shard in shards):
        raise ValueError(f"{paths[0]}: level execution: expected a datadir of Bitcoin Core")
    job = Job(state, level, *fixed(folder, shards, **asked), to=to, tables=tables or {})
    if to:
        # it describes tables that may be replaced
        Folder(to).remove("manifest.json")
    rows = Rows(spark, job)
    answer = verdict.merged(rows, paths, shards, partial)
    answer |= {"shards": len(shards), "verified_now": rows.verified_now}
    answer |= {"finished_before": rows.finished_before}
    if tables and answer["status"] in ("verified", "partial"):
        verdict.write_manifest(job, rows.shards, answer)
    folder.put("verdict.json", json.dumps(answer, indent=1).encode())
    for written in filter(None, (state, to)):
        Folder(written).clear()
    return answer


def fixed(folder, shards, chain=None, **said):
    """The settings of all shards, and the genesis.json of a chain that is not built in: set by the
    caller, else by an earlier run in this folder, else as a single run chooses them."""
    known = folder.json("job.json")
    chosen = {"seal": "all", "seal_seed": secrets.randbits(32), "now": int(time.time())}
    before = known.get("asked", {**chosen, "trust": [], "assume_valid": None})
    if others := said.keys() - before.keys():
        raise TypeError(f"unexpected option {others.pop()!r}")
    said = {name: value for name, value in said.items() if value is not None}
    asked = {**before, **said}
    genesis = None
    if chain is not None and Path(chain).is_file():
        genesis = Path(chain).read_text()
    elif chain is None and known:
        chain, genesis = before["chain"], known["genesis"]
    elif chain is None:
        genesis = text_next_to(shards[0].url, "genesis.json")
        chain = detected(shards) if genesis is None else None
    asked["chain"] = None if genesis else str(chain)
    folder.put("job.json", json.dumps({"asked": asked, "genesis": genesis}, indent=1).encode())
    return asked, genesis


def detected(shards):
    """The chain of the first shard that identifies it."""
    for shard in shards:
        with local(shard.url) as path:
            try:
                first = blockmill.verify_shard(path, level="headers", until=0, seal="off")
            except blockmill.VerifyError as error:
                last = error
                continue
        return first.get("asked", first)["chain"]
    raise last
