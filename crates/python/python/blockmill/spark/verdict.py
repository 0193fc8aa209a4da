"""The verdict on all units, from their rows."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import blockmill

from .folder import Folder, plain

# boundaries in memory at once: of the units before them there is one for all
HELD = 2_000
READERS = 8


def joined(rows, paths, units, partial):
    """The verdict of `verify --join` on all units, those of the archives at `paths`."""
    found = rows.of(units)
    for row in (found[unit] for unit in units):
        if not row.is_open:
            # an archive that cannot be opened has no run
            error = {name: row[name] for name in ("message", "file", "offset")}
            error = {name: value for name, value in error.items() if value is not None}
            empty = {"shortfalls": [], "notes": [], "boundary": None}
            return {"status": row.status, "error": error, **empty}
    if any(row.document == "headers" for row in found.values()):
        answer = of_block_files(rows, paths, units, partial)
    else:
        answer = of_stretches(rows, units, found, partial)
    parts = ("status", "error", "shortfalls", "notes")
    return {**{name: answer[name] for name in parts}, "boundary": answer["result"]}


def of_stretches(rows, units, found, partial):
    """The join of units that are stretches of a chain."""
    job, order, held = rows.job, list(units), HELD
    if all(row.starts_at is not None for row in found.values()):
        order.sort(key=lambda unit: found[unit].starts_at)
    else:
        # the order of files holds, which a join of some of them does not know
        held = len(units)
    answer, again = fold(job, texts(job, order), held, partial)
    if again is not None:
        # an earlier block may be at fault, too: the unit is asked again, which is told what
        # stands before it
        before, _ = fold(job, texts(job, order[:again]), held, partial)
        [order[again]] = behind(rows, [(order[again], before["result"])])
        answer, _ = fold(job, texts(job, order), held, partial)
    return answer


def of_block_files(rows, paths, units, partial):
    """The join of units that are no stretches: of their headers, and of their bodies by the tables
    that come of it, until none is left."""
    if remote := [unit.url for unit in units if "://" in unit.url]:
        raise ValueError(f"{remote[0]}: expected block files at paths of this machine, too")
    job, by_path = rows.job, {unit.url: unit for unit in units}
    documents, asked = list(texts(job, units)), set()
    while True:
        # a table has blocks alone that no table before had
        answer = join(job, documents, partial, level=job.level, of=list(map(plain, paths)))
        if not isinstance(answer["result"], list):
            return answer
        tables = [(by_path[table["sources"][0]["path"]], table) for table in answer["result"]]
        new = behind(rows, tables)
        if not asked.isdisjoint(new):
            raise RuntimeError(f"expected other tables than before, found that of {new[0].url}")
        asked.update(new)
        documents += texts(job, new)


def behind(rows, tasks):
    """Verifies units behind documents: what they are now."""
    folder = Folder(rows.job.state)
    units = [unit._replace(after=folder.put_document(json.dumps(it))) for unit, it in tasks]
    rows.of(units)
    return units


def join(job, documents, partial, **more):
    """The answer of the native join."""
    with job.arguments() as arguments:
        fixed = {name: arguments[name] for name in ("chain", "now")}
        return blockmill.join(documents, **fixed, partial=partial, **more)


def fold(job, boundaries, held, partial):
    """The join of boundaries in their order, and the position of the unit to be asked again."""
    boundaries, before, passed = iter(boundaries), [], 0
    while chunk := list(islice(boundaries, held)):
        answer = join(job, before + chunk, partial)
        if answer["result"].get("fault"):
            again = [re.search(r": verify unit (\d+) again", note) for note in answer["notes"]]
            again = [passed + int(found[1]) - 1 - len(before) for found in again if found]
            if rest := [lacks(boundary) for boundary in boundaries]:
                answer = join(job, before + chunk + rest, partial)
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
