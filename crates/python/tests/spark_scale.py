"""Measures the driver with many shards, with real rows.

    blockmill generate ethereum --headers 699999 --out headers.rlp
    python spark_scale.py FOLDER headers.rlp 7

cuts the headers into shards of 7, whose summaries are as large as those of long ones;

    blockmill generate bitcoin --inputs 0 --blocks 100000 --file-size 32000 --out blocks
    python spark_scale.py FOLDER blocks

takes block files, and

    blockmill import blocks --data store && blockmill convert store --to core --out core
    python spark_scale.py FOLDER core/regtest

those of a datadir, with undo data and coins, at level execution. Two processes play the workers;
time and memory are those of the driver. FOLDER is a new folder.
"""

import json
import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from blockmill.spark import verdict, worker
from blockmill.spark.folder import COINS, Shard, archives
from blockmill.spark.rows import SLIM, Rows
from blockmill.spark.worker import Job

ASKED = {"seal": "off", "seal_seed": 1, "now": 1_900_000_000, "trust": []}


class Kept(dict):
    """What the driver keeps of a row, as an engine gives it."""

    __getattr__ = dict.__getitem__


def slim(what, job, shard):
    """What the driver keeps of the row of a shard."""
    row = what(job, shard)
    return {name: row[name] for name in SLIM}


class Here(Rows):
    """Rows that processes of this machine make."""

    busy, seconds = 0.0, 0.0

    def collected(self, what, shards):
        start, busy = time.monotonic(), time.process_time()
        rows = self.spark.map(partial(slim, what, self.job), shards, chunksize=64)
        found = {Shard(row["shard"], row["size"], row["after"]): Kept(row) for row in rows}
        self.seconds += time.monotonic() - start
        self.busy += time.process_time() - busy
        return found


def items(path):
    """The headers in a file."""
    with open(path, "rb") as file:
        while first := file.read(3):
            # a list whose length has two bytes
            assert first[0] == 0xF9
            yield first + file.read(int.from_bytes(first[1:], "big"))


def cut(path, size, folder):
    """Writes the headers in a file into shards of so many."""
    folder.mkdir(parents=True)
    some, shards = [], 0
    for header in items(path):
        some.append(header)
        if len(some) == size:
            (folder / f"shard-{shards:06}.rlp").write_bytes(b"".join(some))
            some, shards = [], shards + 1


def main():
    folder, archive, *size = sys.argv[1:]
    level, chain, to = "bodies", "regtest", Path(folder, "results")
    if size:
        level, chain = "headers", "mainnet"
        cut(archive, int(size[0]), Path(folder, "archive"))
        archive = str(Path(folder, "archive"))
    if with_coins := Path(archive, COINS).is_dir():
        level = "execution"
    paths, shards = [archive], archives([archive], with_coins)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as workers:
        rows = Here(workers, Job(str(to), level, {"chain": chain, **ASKED}))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
        start, busy = time.monotonic(), time.process_time()
        answer = verdict.merged(rows, paths, shards, partial=False)
        seconds = time.monotonic() - start - rows.seconds
        busy = time.process_time() - busy - rows.busy
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    size = len(json.dumps(answer["summary"]))
    print(f"{answer['status']}: {len(shards)} shards, {answer['summary']['blocks']} blocks")
    print(f"{rows.seconds:.0f} s of waiting for {rows.verified_now} tasks")
    print(f"{seconds:.1f} s, {busy:.1f} s of CPU time; the summary of all has {size} bytes")
    print(f"{before} MB of memory before, {most} MB at most")


if __name__ == "__main__":
    main()
