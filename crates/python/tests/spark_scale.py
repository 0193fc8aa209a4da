"""What the driver needs for many units: real rows of short units, which it reads and joins.

    blockmill generate ethereum --headers 699999 --out headers.rlp
    python spark_scale.py headers.rlp 7 FOLDER

cuts the headers into units of 7, verifies each as a worker does, and then measures time and memory
of the driver after the last task has ended. FOLDER is a new one. The boundary of a short unit is as
large as that of a long one.
"""

import json
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from blockmill.spark import SLIM, verdict, worker
from blockmill.spark.worker import Job

ASKED = {"chain": "mainnet", "seal": "off", "seal_seed": 1, "now": 1_800_000_000, "trust": []}


class Kept(dict):
    """What the driver keeps of a row, as an engine gives it."""

    __getattr__ = dict.__getitem__


def items(path):
    """The headers in a file."""
    with open(path, "rb") as file:
        while first := file.read(3):
            # a list whose length has two bytes
            assert first[0] == 0xF9
            yield first + file.read(int.from_bytes(first[1:], "big"))


def verified(headers, size, folder):
    """Cuts headers into units and verifies them: the units, and what the driver keeps of each."""
    job, units, kept = Job(f"{folder}/results", "headers", ASKED), [], {}
    (folder / "archive").mkdir(parents=True)

    def verify(unit):
        row = worker.verify_unit(job, unit)
        return {name: row[name] for name in SLIM}

    some = []
    for header in headers:
        some.append(header)
        if len(some) == size:
            path = folder / "archive" / f"unit-{len(units):06}.rlp"
            path.write_bytes(b"".join(some))
            units.append((str(path), path.stat().st_size))
            some = []
    with ThreadPoolExecutor(2) as pool:
        for row in pool.map(verify, units):
            kept[row["unit"]] = row
    return job, units, kept


def main():
    headers, size, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    start = time.monotonic()
    job, units, kept = verified(items(headers), size, folder)
    print(f"verified {len(units)} units in {time.monotonic() - start:.0f} s")
    (folder / "kept.json").write_text(json.dumps([job.state, units, kept]))
    # a process of its own, whose memory is the driver's
    subprocess.run([sys.executable, __file__, str(folder / "kept.json")], check=True)


def join(path):
    """The driver's part."""
    state, units, kept = json.loads(Path(path).read_text())
    units, kept = [tuple(unit) for unit in units], {name: Kept(row) for name, row in kept.items()}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    start, busy = time.monotonic(), time.process_time()
    answer = verdict.joined(None, Job(state, "headers", ASKED), units, kept, partial=False)
    seconds, busy = time.monotonic() - start, time.process_time() - busy
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    size = len(json.dumps(answer["boundary"]))
    print(f"{answer['status']}: {len(units)} units, {answer['boundary']['blocks']} blocks")
    print(f"{seconds:.1f} s, {busy:.1f} s of CPU time; the boundary of all has {size} bytes")
    print(f"{before} MB of memory before, {most} MB at most")


if __name__ == "__main__":
    main() if len(sys.argv) == 4 else join(sys.argv[1])
