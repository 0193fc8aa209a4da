"""Whole archives on Apache Spark, or on what speaks its protocol: a file of an archive is a shard,
and a shard is a task.

Workers need this package, and to reach the files. A row in `shards/` of the folder of results tells
of each shard, whatever is wrong with it; only what is wrong with machines raises, so that the engine
tries again. The verdict is that of the summaries merged, which is that of a single run.
"""

import json
import secrets
import time
from pathlib import Path

import blockmill

from . import verdict
from .folder import Folder, archives, is_block_file, is_of_coins, local, text_beside
from .rows import Rows
from .worker import Job

__all__ = ["export", "verify"]


def verify(spark, paths, to, **asked):
    """Verifies archives, and gives the verdict of `blockmill verify` over all of them.

    `paths` are files, or folders of archives; `to` is the folder of results. `level` (bodies),
    `partial`, `chain`, `seal`, `seal_seed`, `now`, `trust` and `assume_valid` are as on the command
    line. Of the last six, what the caller does not say is fixed by the first run in `to`. Shards
    that have a row there for the same files, level, options and revision are not verified again.

    At level `execution`, `paths` is a datadir of Bitcoin Core, whose undo data and unspent coins a
    sum proves, as `coins=multiset` does on one machine. Its salt is then in `to`: who can read that must
    not be able to write the datadir meanwhile.
    """
    return run(spark, paths, str(to), **asked)


def export(spark, paths, to, tables, hex=False, names="etl", **asked):
    """The same, and the blocks as tables in Parquet in `to`: when all shards are one verified chain,
    `manifest.json` says so. Results are in `_blockmill` of it."""
    tables = {"tables": list(tables), "hex": hex, "names": names}
    return run(spark, paths, f"{to}/_blockmill", to=str(to), tables=tables, **asked)


def run(spark, paths, state, to=None, tables=None, level="bodies", partial=False, **asked):
    """Verifies the shards that have no row yet, and merges the rows of all."""
    folder = Folder(state)
    paths = [str(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    shards = archives(paths, by_sum=level == "execution")
    if level == "execution" and not any(is_of_coins(shard.url) for shard in shards):
        raise ValueError(f"{paths[0]}: level execution: expected a datadir of Bitcoin Core")
    job = Job(state, level, *fixed(folder, shards, **asked), to=to, tables=tables or {})
    if to:
        # it speaks of tables that may be replaced
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
    """What all shards are asked for, and the genesis.json of a chain that is not built in: as the
    caller says, else as the run before did, else as a single run chooses it."""
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
        genesis = text_beside(shards[0].url, "genesis.json")
        chain = detected(shards) if genesis is None else None
    asked["chain"] = None if genesis else str(chain)
    folder.put("job.json", json.dumps({"asked": asked, "genesis": genesis}, indent=1).encode())
    return asked, genesis


def detected(shards):
    """The chain of the first shard that tells it."""
    for shard in shards:
        with local(shard.url) as path:
            try:
                first = blockmill.verify_shard(path, level="headers", until=0, seal="off")
            except blockmill.VerifyError as error:
                told = error
                continue
        return first.get("asked", first)["chain"]
    raise told
