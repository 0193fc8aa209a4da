"""What the driver needs for many units: rows of made-up units, which it reads and joins.

    cargo run --release -p blockmill-ethereum --example join_many -- 100000 print |
        python spark_scale.py FOLDER

FOLDER is a new one. Time and memory are those of the driver after the last task has ended.
"""

import json
import resource
import sys
import time
from collections import namedtuple
from pathlib import Path

import pyarrow as pa
from blockmill.spark import SLIM, verdict
from blockmill.spark.folder import Folder
from blockmill.spark.worker import ROW, Job, told

GENESIS = Path(__file__).parents[2] / "ethereum" / "examples" / "join_many.json"
ASKED = {"chain": None, "seal": "off", "seal_seed": 1, "now": None, "trust": []}


def peak():
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


def main():
    folder = Folder(sys.argv[1])
    job = Job(sys.argv[1], "headers", ASKED, GENESIS.read_text())
    kept, units, kind = {}, [], namedtuple("Kept", SLIM)
    kind.__getitem__ = lambda row, name: getattr(row, name)
    for line in sys.stdin:
        document = json.loads(line)
        [source] = document["sources"]
        unit = (source["path"], source["bytes"])
        row = {"unit": unit[0], "size": unit[1], "sha256": source["sha256"], **job.key()}
        row |= {**told(document), "boundary": line, "files": "[]"}
        folder.put_row(job.name(unit), pa.RecordBatch.from_pylist([row], schema=ROW))
        kept[unit[0]] = kind(*(row[name] for name in SLIM))
        units.append(unit)
    before, start, busy = peak(), time.monotonic(), time.process_time()
    answer = verdict.joined(None, job, units, kept, partial=False)
    seconds, busy = time.monotonic() - start, time.process_time() - busy
    print(f"{answer['status']}: {len(units)} units, {answer['boundary']['blocks']} blocks")
    print(f"{seconds:.1f} s, {busy:.1f} s of CPU time")
    print(f"{before} MB of memory before, {peak()} MB at most")


if __name__ == "__main__":
    main()
