"""The verdict on all units, from their rows."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial as task
from itertools import islice

import blockmill

from . import worker
from .folder import Folder
from .worker import on_workers

# boundaries in memory at once: of the units before them there is one for all
HELD = 2_000
READERS = 8


def joined(spark, job, units, rows, partial):
    """The verdict of `verify --join` on all units. `rows` are what the driver keeps of theirs."""
    if missing := [unit for unit, _ in units if unit not in rows]:
        raise RuntimeError(f"expected a row of each unit, found none of {missing[0]}")
    for unit, _ in units:
        row = rows[unit]
        if not row.is_open:
            # an archive that cannot be opened has no run
            error = {name: row[name] for name in ("message", "file", "offset")}
            error = {name: value for name, value in error.items() if value is not None}
            empty = {"shortfalls": [], "notes": [], "boundary": None}
            return {"status": row.status, "error": error, **empty}
    order, held = list(units), HELD
    if all(row.starts_at is not None for row in rows.values()):
        order.sort(key=lambda unit: rows[unit[0]].starts_at)
    else:
        # the order of files holds, which a join of some of them does not know
        held = len(units)
    answer, again = fold(job, texts(job, order), held, partial)
    if again is not None:
        # an earlier block may be at fault, too: the unit is asked again, which is told what
        # stands before it
        before, _ = fold(job, texts(job, order[:again]), held, partial)
        told = task(worker.verify_unit, job, after=before["result"])
        [row] = on_workers(spark, told, [order[again]]).select("boundary").collect()
        now = (row.boundary if at == again else text for at, text in enumerate(texts(job, order)))
        answer, _ = fold(job, now, held, partial)
    parts = ("status", "error", "shortfalls", "notes")
    return {**{name: answer[name] for name in parts}, "boundary": answer["result"]}


def fold(job, boundaries, held, partial):
    """The join of boundaries in their order, and the position of the unit to be asked again."""

    def join(documents):
        with job.arguments() as arguments:
            chain, now = arguments["chain"], arguments["now"]
            return blockmill.join(documents, chain=chain, now=now, partial=partial)

    boundaries, before, passed = iter(boundaries), [], 0
    while chunk := list(islice(boundaries, held)):
        answer = join(before + chunk)
        if answer["result"].get("fault"):
            again = [re.search(r": verify unit (\d+) again", note) for note in answer["notes"]]
            again = [passed + int(found[1]) - 1 - len(before) for found in again if found]
            if rest := [lacks(boundary) for boundary in boundaries]:
                answer = join(before + chunk + rest)
            return answer, again[0] if again else None
        passed += len(chunk)
        before = [answer["result"]]
    return answer, None


def lacks(boundary):
    """A boundary behind a fault: what its files are and lack is all that is looked at."""
    document = json.loads(boundary)
    head = {**document["head"], "blocks": [], "good": 0}
    lean = {**document, "head": head, "tail": [], "sides": {}, "fault": None, "last": None}
    return json.dumps(lean)


def texts(job, units):
    """The boundaries of units, in their order."""
    return (row["boundary"] for row in read(job, units, ["boundary"]))


def read(job, units, columns):
    """Columns of the rows of units, in their order; a few are in memory at once."""
    folder, units = Folder(job.state), iter(units)
    with ThreadPoolExecutor(READERS) as pool:
        while some := list(islice(units, 64 * READERS)):
            yield from pool.map(lambda unit: folder.row(job.name(unit), columns), some)


def write_manifest(job, units, answer):
    """Says that the tables of all units are one verified chain."""
    boundary = answer["boundary"]
    rows = sorted(read(job, units, ["starts_at", "files"]), key=lambda row: row["starts_at"])
    files = [file for row in rows for file in json.loads(row["files"])]
    tables = Folder(job.to)
    facts, anchor = tables.facts(files[0]["file"]), boundary.get("anchor")
    manifest = {
        "schema": 1,
        "verified": "partial" if answer["status"] == "partial" else "chain",
        "chain": boundary["asked"]["chain"],
        "genesis": boundary["asked"]["genesis"],
        "level": job.level,
        "first": boundary["first"]["number"],
        "last": boundary["last"]["number"],
        "tip": boundary["last"]["hash"],
        **({"anchor": f"{anchor['number']} {anchor['hash']}"} if anchor else {}),
        "program": facts["blockmill.program"],
        "rules": facts["blockmill.rules"],
        "files": files,
    }
    tables.put("manifest.json", json.dumps(manifest, indent=2).encode() + b"\n")
