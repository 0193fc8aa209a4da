"""Merges the rows of all shards into a verdict."""

import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

from blockmill import _native

from .._arguments import is_url
from .folder import Folder, is_of_coins, plain, sealed, states_totals
from .rows import Rows

# summaries in memory at once; the earlier ones are merged into one
HELD = 2_000
READERS = 8


def merged(rows, paths, shards, partial):
    """The verdict of `verify --merge` on all shards of the archives at `paths`."""
    shards = with_totals(rows, shards)
    found = rows.of(shards)
    answer = refused(found, shards)
    if answer is None and any(row.document == "headers" for row in found.values()):
        answer = of_block_files(rows, paths, shards, partial)
    elif answer is None:
        answer = of_ranges(rows, shards, found, partial)
    parts = ("status", "error", "shortfalls", "notes")
    return {**{name: answer[name] for name in parts}, "summary": answer["result"]}


def with_totals(rows, shards):
    """Returns the shards. If tables need total difficulties that the archives do not state, each
    shard gets the summary of the earlier ones, for which all headers are verified first. If the
    headers are not one chain, returns the shards unchanged: then no tables are written."""
    job = rows.job
    needed = not {"blocks", "all"}.isdisjoint(job.tables.get("tables", []))
    if not needed or len(shards) < 2 or all(states_totals(shard.url) for shard in shards):
        return shards
    job = replace(job, level="headers", asked={**job.asked, "seal": "off"}, tables={})
    headers = Rows(rows.spark, job)
    found = headers.of(shards)
    rows.verified_now += headers.verified_now
    rows.finished_before += headers.finished_before
    if any(row.starts_at is None for row in found.values()):
        return shards
    order = sorted(shards, key=lambda shard: found[shard].starts_at)
    placed, before = [], None
    for shard, summary in zip(order, texts(job, order)):
        if before:
            shard = with_documents(shard, [Folder(job.state).put_document(before)])
        placed.append(shard)
        answer, _ = merge(job, [*filter(None, [before]), summary], partial=True)
        if answer["status"] not in ("verified", "partial"):
            return shards
        before = sealed({**answer["result"], "sources": []})
    return placed


def refused(found, shards):
    """The answer if one of these shards has no document: an archive that cannot be opened has no
    run. None if all have one."""
    row = next((found[shard] for shard in shards if not found[shard].is_open), None)
    if row is None:
        return None
    error = {name: row[name] for name in ("message", "file", "offset")}
    error = {name: value for name, value in error.items() if value is not None}
    return {"status": row.status, "error": error, "shortfalls": [], "notes": [], "result": None}


def of_ranges(rows, shards, found, partial):
    """Merges shards that are contiguous ranges of a chain."""
    job, order, held = rows.job, list(shards), HELD
    if all(row.starts_at is not None for row in found.values()):
        order.sort(key=lambda shard: found[shard].starts_at)
    else:
        # they are merged in the order of files, which needs all of them at once
        held = len(shards)
    answer, again = merged_in_chunks(job, texts(job, order), held, partial)
    if again is not None:
        # an earlier block of the shard may be at fault, too: verify it after the earlier shards
        before, _ = merged_in_chunks(job, texts(job, order[:again]), held, partial)
        before = Folder(job.state).put_document(json.dumps(before["result"]))
        order[again] = with_documents(order[again], [before])
        rows.of([order[again]])
        answer, _ = merged_in_chunks(job, texts(job, order), held, partial)
    return answer


def of_block_files(rows, paths, shards, partial):
    """Merges shards that are block files: their headers, then their bodies by the tables of the
    merge, until no table is left."""
    if copied := [it.url for it in shards if "://" in it.url and not is_url(it.url)]:
        raise ValueError(f"{copied[0]}: expected block files at paths of this machine or at URLs")
    job, by_path = rows.job, {shard.url: shard for shard in shards}
    coins = next((shard for shard in shards if is_of_coins(shard.url)), None)
    documents, asked = list(texts(job, shards)), set()
    # the salt that an interrupted driver drew for the same documents
    salted, kept, folder = f"salts/{sum_of(documents)}.json", "", Folder(job.state)
    if job.level == "execution":
        kept = folder.text(salted)
    while True:
        # a table has only blocks that no earlier table had
        drawn = [kept] if kept else []
        of = [path if is_url(path) else plain(path) for path in paths]
        answer, asks = merge(job, documents + drawn, partial, of, level=job.level)
        if asks is None:
            return answer
        new, shared = [], [folder.put_document(kept)] if kept else []
        for it, text in asks:
            if it["document"] == "execution":
                # it is the first document
                folder.put(salted, text.encode())
                kept, shared = text, [folder.put_document(text)]
                continue
            is_table = it["document"] == "table"
            shard = by_path[it["sources"][0]["path"]] if is_table else coins
            new.append(with_documents(shard, [*shared, folder.put_document(text)]))
        if not asked.isdisjoint(new):
            raise RuntimeError(f"expected new tables, found a repeated table of {new[0].url}")
        asked.update(new)
        if answer := refused(rows.of(new), new):
            return answer
        documents += texts(job, new)


def sum_of(documents):
    """SHA-256 of documents, one a line."""
    found = hashlib.sha256()
    for at, document in enumerate(documents):
        found.update((chr(10) * (at > 0) + document).encode())
    return found.hexdigest()


def with_documents(shard, names):
    """The shard with these stored documents as input."""
    return shard._replace(after=" ".join(names))


def merge(job, documents, partial, of=(), **more):
    """The answer of the native merge, and the documents of a list in its result, one by one. All of
    them as Python objects would take many times the memory."""
    with job.arguments() as arguments:
        fixed = ("chain", "now", "with_", "assume_valid")
        fixed = {name: arguments[name] for name in fixed if name in arguments}
        return _native.merge(documents, list(of), {"partial": partial, **fixed, **more})


def merged_in_chunks(job, summaries, held, partial):
    """Merges summaries in order. Returns the answer, and the index of the shard to verify again."""
    summaries, before, passed = iter(summaries), [], 0
    while chunk := list(islice(summaries, held)):
        answer, _ = merge(job, before + chunk, partial)
        if answer["result"].get("fault"):
            again = [re.search(r": verify shard (\d+) again", note) for note in answer["notes"]]
            again = [passed + int(found[1]) - 1 - len(before) for found in again if found]
            if rest := [without_blocks(summary) for summary in summaries]:
                answer, _ = merge(job, before + chunk + rest, partial)
            return answer, again[0] if again else None
        passed += len(chunk)
        before = [answer["result"]]
    return answer, None


def without_blocks(summary):
    """The summary of a shard after a fault, reduced to its files and shortfalls."""
    document = json.loads(summary)
    head = {**document["head"], "blocks": [], "good": 0}
    # without blocks, so that it is consistent
    nothing = {"first": None, "last": None, "anchor": None, "total_before": None, "fault": None}
    nothing |= {"blocks": 0, "difficulty_sum": "0", "tail": [], "sides": {}, "trusted": []}
    nothing["counts"] = dict.fromkeys(document["counts"], 0)
    nothing["status"] = "incomplete" if document["shortfalls"] else "unrecognised"
    return sealed({**document, **nothing, "head": head})


def texts(job, shards):
    """The summaries of shards, in order."""
    return (row["summary"] for row in read(job, shards, ["summary"]))


def read(job, shards, columns):
    """Columns of the rows of shards, in order; a few rows are in memory at once."""
    folder, shards = Folder(job.state), iter(shards)
    with ThreadPoolExecutor(READERS) as pool:
        while some := list(islice(shards, 64 * READERS)):
            yield from pool.map(lambda shard: folder.row(job.name(shard), columns), some)


def write_manifest(job, shards, answer):
    """Writes the manifest: the tables of all shards are one verified chain."""
    summary = answer["summary"]
    rows = list(read(job, shards, ["files", "document", "blocks"]))
    bodies = [row["blocks"] for row in rows if row["document"] == "bodies"]
    if bodies and sum(bodies) != summary["blocks"]:
        # a branch was replaced by another one
        message = f"the best chain changed while it was written: expected {summary['blocks']} " \
            f"blocks in tables, found {sum(bodies)}; verify says what is wrong with these files"
        answer.update(status="invalid", error={"message": message})
        return
    first, last, tip = ends(summary)
    tables, files = Folder(job.to), []
    for file in (file for row in rows for file in json.loads(row["files"])):
        if file["first"] <= last:
            files.append(file)
        else:
            # a shard after missing blocks is not part of the chain
            tables.remove(file["file"])
    # each shard lists its tables in the same order
    files.sort(key=lambda file: file["first"])
    facts, anchor = tables.facts(files[0]["file"]), summary.get("anchor")
    if isinstance(anchor, dict):
        anchor = f"{anchor['number']} {anchor['hash']}"
    manifest = {
        "schema": 1,
        "verified": "partial" if answer["status"] == "partial" else "chain",
        "chain": facts["blockmill.chain"],
        "genesis": facts["blockmill.genesis"],
        "level": job.level,
        # what a chain begins with is written, but was not read
        "first": min(first, files[0]["first"]),
        "last": last,
        "tip": tip,
        **({"anchor": anchor} if anchor else {}),
        "program": facts["blockmill.program"],
        "rules": facts["blockmill.rules"],
        **({"partition": by} if (by := job.tables.get("partition")) else {}),
        "files": files,
    }
    tables.put("manifest.json", json.dumps(manifest, indent=2).encode() + b"\n")


def ends(summary):
    """The heights of the first and the last block, and the hash of the last one."""
    first, last = (summary[end] for end in ("first", "last"))
    if isinstance(last, dict):
        return first["number"], last["number"], last["hash"]
    return first, last, summary["tip"]
