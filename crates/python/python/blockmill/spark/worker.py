"""The tasks of the workers: verify a shard, and write its row."""

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field

import blockmill
import pyarrow as pa

from .. import _native
from .._arguments import is_url
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
    """The settings of all shards, fixed once by the driver."""

    state: str
    level: str
    asked: dict
    genesis: str | None = None
    to: str | None = None
    tables: dict = field(default_factory=dict)

    def key(self):
        """The part of the key of a row that all shards share."""
        genesis = self.genesis and hashlib.sha256(self.genesis.encode()).hexdigest()
        options = json.dumps({**self.asked, "genesis": genesis, **self.tables}, sort_keys=True)
        return {"level": self.level, "options": options, "revision": blockmill.__version__}

    def is_tabled(self, shard):
        """Returns whether this task writes tables. Block files need the document with their heights
        first."""
        is_last = shard.after is not None or not is_block_file(shard.url)
        return bool(self.tables) and is_last and not is_of_coins(shard.url)

    def name(self, shard):
        """The name of the file with the row of a shard. It does not depend on the content of the
        shard, so each shard has one row."""
        what = json.dumps([*shard, self.key()], sort_keys=True)
        return f"shards/{hashlib.sha256(what.encode()).hexdigest()}.parquet"

    @contextlib.contextmanager
    def arguments(self):
        """The arguments of the native functions. Each task has one thread."""
        multiset = {"with_": "coins=multiset"} if self.level == "execution" else {}
        asked = {**self.asked, **multiset, "level": self.level, "threads": 1}
        if self.genesis is None:
            yield asked
            return
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(self.genesis)
            file.flush()
            yield {**asked, "chain": file.name}


def on_workers(spark, what, shards):
    """The rows that `what` returns for these shards. Each shard is a task of the engine; the first
    shards are started first."""
    count = len(shards)

    def run(batches):
        for batch in batches:
            for at in batch.column(0).to_pylist():
                rows = [row for row in [what(shards[at])] if row is not None]
                yield pa.RecordBatch.from_pylist(rows, schema=ROW)

    return spark.range(0, count, 1, count).mapInArrow(run, COLUMNS)


def verify_shard(job, shard):
    """Verifies a shard, and writes its row. Every attempt writes the same row."""
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
            # an archive that cannot be opened has no summary
            document = error.answer
        texts = [json.dumps(part, separators=(",", ":")) for part in (document, files)]
        if path != shard.url:
            names = [json.dumps(name)[1:-1] for name in (path, shard.url)]
            texts = [text.replace(*names) for text in texts]
        document = json.loads(texts[0])
        if "checksum" in document:
            # paths may have changed
            texts[0] = sealed(document)
        listed = files_of(document, table)
        if shard.after is not None and "error" in document:
            # files that changed between two steps may change back, so the row has no key
            sha256 = None
        else:
            sha256 = one_of([it["sha256"] for it in listed]) if listed else sum_of(path)
    found = columns_of(document, table)
    key = {"shard": shard.url, "size": shard.size, "sha256": sha256, "after": shard.after}
    key |= job.key()
    row = {**key, **found, "files": texts[1], "summary": texts[0] if found["is_open"] else None}
    folder.put_row(job.name(shard), pa.RecordBatch.from_pylist([row], schema=ROW))
    return row


def table_in(after):
    """The table of a shard, one of these documents."""
    documents = map(json.loads, after.splitlines() if after else [])
    return next((it for it in documents if it.get("document") == "table"), {})


def export_shard(job, path, after, arguments):
    """Returns the summary of a shard and the files of its tables. The files get their names when
    all of them are complete."""
    tables = Folder(job.to)
    with tables.scratch() as scratch:
        done = blockmill.export_shard(path, scratch, after=after, **job.tables, **arguments)
        for file in done["files"]:
            tables.put(file["file"], str(scratch / file["file"]))
    return done["summary"], done["files"]


def finished_shard(job, shard):
    """The row of a shard, if its files and its tables are unchanged. Otherwise None."""
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
    """The files that a document depends on, with their SHA-256: those of the shard, and at
    Bitcoin's level `execution` the undo files."""
    return [*document.get("sources", []), *document.get("undo", table.get("undo", []))]


def one_of(sums):
    """One SHA-256 for some files. For one file, it is its own."""
    if len(sums) == 1:
        return sums[0]
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()


def columns_of(document, table):
    """The columns of a row about a document: a shard summary, the headers or bodies of block files
    (by their table), or the error of an archive that cannot be opened."""
    if "document" in document:
        return columns_of_blocks(document, table)
    is_open = "head" in document
    fault = document.get("fault") or {}
    location = fault.get("location") or {}
    error = document.get("error") or {**fault, **fault.get("remote", {}), **location}
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


def columns_of_blocks(document, table):
    """The columns of a row about a document of block files: for bodies, the first faulty one."""
    rows = document.get("rows", [])
    at, row = next(((at, row) for at, row in enumerate(rows) if "fault" in row), (0, {}))
    fault, asked = row.get("fault", {}), table["rows"][at] if row else {}
    return {
        "is_open": True,
        "document": document["document"],
        "status": fault.get("status", "verified"),
        "starts_at": None,
        "blocks": sum("fault" not in row for row in rows) or len(document.get("records", [])),
        "message": fault.get("text"),
        "block": asked.get("height"),
        "hash": hash_of(asked["record"]["header"]) if row else None,
        "file": document["sources"][row["file"]]["path"] if row else None,
        "offset": row.get("offset"),
        **{name: fault.get(name) for name in ("rule", "expected", "found")},
    }


def hash_of(header):
    """The hash of a block header, in the order in which users write it."""
    first = hashlib.sha256(bytes.fromhex(header)).digest()
    return hashlib.sha256(first).digest()[::-1].hex()


def sum_of(path):
    """The SHA-256 of a file. None for a folder that could not be opened as a shard."""
    if is_url(path):
        file, sum = _native.RemoteFile(path), hashlib.sha256()
        while part := file.read(1 << 20):
            sum.update(part)
        return sum.hexdigest()
    if os.path.isdir(path):
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
