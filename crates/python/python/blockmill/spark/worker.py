"""What runs on the workers: a shard is verified, and one row tells of it."""

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field

import blockmill
import pyarrow as pa

from .folder import Folder, is_block_file, is_of_coins, local, sealed

KEY = ["shard", "size", "sha256", "after", "level", "options", "revision"]
TEXTS = ["document", "status", "summary", "files", "hash", "file"]
TEXTS += ["rule", "expected", "found", "message"]
NUMBERS = ["starts_at", "blocks", "block", "offset"]
ROW = pa.schema(
    [(name, pa.int64() if name == "size" else pa.string()) for name in KEY]
    + [(name, pa.string()) for name in TEXTS]
    + [(name, pa.int64()) for name in NUMBERS]
    + [("is_open", pa.bool_())]
)
TYPES = {pa.string(): "string", pa.int64(): "bigint", pa.bool_(): "boolean"}
COLUMNS = ", ".join(f"`{field.name}` {TYPES[field.type]}" for field in ROW)


@dataclass(frozen=True)
class Job:
    """What is the same for all shards, fixed once by the driver."""

    state: str
    level: str
    asked: dict
    genesis: str | None = None
    to: str | None = None
    tables: dict = field(default_factory=dict)

    def key(self):
        """What a finished shard need not be verified again for, besides its file."""
        genesis = self.genesis and hashlib.sha256(self.genesis.encode()).hexdigest()
        options = json.dumps({**self.asked, "genesis": genesis, **self.tables}, sort_keys=True)
        return {"level": self.level, "options": options, "revision": blockmill.__version__}

    def is_tabled(self, shard):
        """Does this task write tables? Of block files a document that is known before tells the
        heights, so they have none without."""
        is_last = shard.after is not None or not is_block_file(shard.url)
        return bool(self.tables) and is_last and not is_of_coins(shard.url)

    def name(self, shard):
        """The name of the file with the row of a shard: whatever its bytes, so that of each there is
        one."""
        what = json.dumps([*shard, self.key()], sort_keys=True)
        return f"shards/{hashlib.sha256(what.encode()).hexdigest()}.parquet"

    @contextlib.contextmanager
    def arguments(self):
        """The arguments of the native functions. A machine does one shard a core."""
        by_sum = {"with_": "coins=multiset"} if self.level == "execution" else {}
        asked = {**self.asked, **by_sum, "level": self.level, "threads": 1}
        if self.genesis is None:
            yield asked
            return
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(self.genesis)
            file.flush()
            yield {**asked, "chain": file.name}


def on_workers(spark, what, shards):
    """The table of the rows that `what` yields of each shard: each is a task of the engine, the
    first shards come first."""
    count = len(shards)

    def run(batches):
        for batch in batches:
            for at in batch.column(0).to_pylist():
                rows = [row for row in [what(shards[at])] if row is not None]
                yield pa.RecordBatch.from_pylist(rows, schema=ROW)

    return spark.range(0, count, 1, count).mapInArrow(run, COLUMNS)


def verify_shard(job, shard):
    """Verifies a shard, and keeps its row, which is the same whoever makes it and how often."""
    folder = Folder(job.state)
    after = folder.documents(shard.after)
    table = table_in(after)
    with local(shard.url) as path, job.arguments() as arguments:
        files = []
        try:
            if job.is_tabled(shard):
                document, files = export_shard(job, path, after, arguments)
            else:
                document = blockmill.verify_shard(path, after=after, **arguments)
        except blockmill.VerifyError as error:
            # what cannot be opened leaves no summary
            document = error.answer
        texts = [json.dumps(part, separators=(",", ":")) for part in (document, files)]
        if path != shard.url:
            names = [json.dumps(name)[1:-1] for name in (path, shard.url)]
            texts = [text.replace(*names) for text in texts]
        document = json.loads(texts[0])
        if "checksum" in document:
            # paths may be other ones now
            texts[0] = sealed(document)
        listed = files_of(document, table)
        if shard.after is not None and "error" in document:
            # files that changed between two steps may change back
            sha256 = None
        else:
            sha256 = one_of([it["sha256"] for it in listed]) if listed else sum_of(path)
    found = told(document, table)
    key = {"shard": shard.url, "size": shard.size, "sha256": sha256, "after": shard.after, **job.key()}
    row = {**key, **found, "files": texts[1], "summary": texts[0] if found["is_open"] else None}
    folder.put_row(job.name(shard), pa.RecordBatch.from_pylist([row], schema=ROW))
    return row


def table_in(after):
    """What is asked of the blocks of a shard, which is one of these documents."""
    documents = map(json.loads, after.splitlines() if after else [])
    return next((it for it in documents if it.get("document") == "table"), {})


def export_shard(job, path, after, arguments):
    """The summary of a shard and the files of its tables, which get their names when all of them
    are whole."""
    tables = Folder(job.to)
    with tables.scratch() as scratch:
        done = blockmill.export_shard(path, scratch, after=after, **job.tables, **arguments)
        for file in done["files"]:
            tables.put(file["file"], str(scratch / file["file"]))
    return done["summary"], done["files"]


def finished_shard(job, shard):
    """The row of a shard, if it is of the bytes that its files have now, and its tables are there."""
    folder = Folder(job.state)
    row = folder.row(job.name(shard))
    if row is None:
        return None
    if written := json.loads(row["files"]):
        tables = Folder(job.to)
        if not all(tables.has(it["file"], it["bytes"]) for it in written):
            return None
    listed = []
    if is_block_file(shard.url) or is_of_coins(shard.url):
        table = table_in(folder.documents(shard.after))
        listed = files_of(json.loads(row["summary"] or "{}"), table)
    with local(shard.url) as path:
        paths = [it["path"] for it in listed] or [path]
        try:
            sums = [sum_of(path) for path in paths]
        except FileNotFoundError:
            return None
        return row if row["sha256"] and one_of(sums) == row["sha256"] else None


def files_of(document, table):
    """The files that a document rests on, with their SHA-256: those of the shard, and of Bitcoin's
    level `execution` those with undo data."""
    return [*document.get("sources", []), *document.get("undo", table.get("undo", []))]


def one_of(sums):
    """One SHA-256 for those of some files; that of the only one."""
    if len(sums) == 1:
        return sums[0]
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()


def told(document, before):
    """What a row says of a document behind `before`, or of the error of what cannot be opened, in
    columns."""
    if "document" in document:
        return told_of_blocks(document, before)
    is_open = "head" in document
    fault = document.get("fault") or {}
    location = fault.get("location") or {}
    error = document.get("error") or {**fault, **fault.get("told", {}), **location}
    starts_at = document.get("head", {}).get("starts_at")
    stated = document.get("stated") or [None]
    return {
        "is_open": is_open,
        "document": "summary" if is_open else None,
        "status": document["status"],
        "starts_at": stated[0] if starts_at is None else starts_at,
        "blocks": document.get("blocks", 0),
        "message": error.get("message", error.get("text")),
        **{name: error.get(name) for name in ("block", "hash", "file", "offset")},
        **{name: error.get(name) for name in ("rule", "expected", "found")},
    }


def told_of_blocks(document, table):
    """The same of a document of block files: of bodies, the first that is bad by its table."""
    rows = document.get("rows", [])
    at, row = next(((at, row) for at, row in enumerate(rows) if "bad" in row), (0, {}))
    bad, asked = row.get("bad", {}), table["rows"][at] if row else {}
    return {
        "is_open": True,
        "document": document["document"],
        "status": bad.get("status", "verified"),
        "starts_at": None,
        "blocks": sum("bad" not in row for row in rows) or len(document.get("records", [])),
        "message": bad.get("text"),
        "block": asked.get("height"),
        "hash": hash_of(asked["record"]["header"]) if row else None,
        "file": document["sources"][row["file"]]["path"] if row else None,
        "offset": row.get("offset"),
        **{name: bad.get(name) for name in ("rule", "expected", "found")},
    }


def hash_of(header):
    """The hash of a block, as it is written."""
    first = hashlib.sha256(bytes.fromhex(header)).digest()
    return hashlib.sha256(first).digest()[::-1].hex()


def sum_of(path):
    """The SHA-256 of a file; of a folder, which could not be opened as a shard, there is none."""
    if os.path.isdir(path):
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
