"""Where archives are read from and results are kept: local folders and whatever fsspec knows."""

import contextlib
import hashlib
import io
import json
import os
import re
import tempfile
import uuid
from pathlib import Path
from typing import NamedTuple

import fsspec
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

PACKED = r"(\.(gz|zst|zstd|xz|bz2))?$"
BLOCK_FILE = re.compile(rf"(^|/)blk\d+\.dat{PACKED}")
# in a datadir of Bitcoin Core
BLOCKS, COINS = "blocks", "chainstate"
ARCHIVE = re.compile(rf"(\.era1|\.rlp){PACKED}")
RLP = re.compile(rf"\.rlp{PACKED}")


def sealed(document):
    """The text of a document of `verify --shard` that was changed, with the checksum that a merge
    asks for: the SHA-256 of all other members, sorted, without spaces."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({**rest, "checksum": checksum}, separators=(",", ":"))


class Shard(NamedTuple):
    """A file; or the same behind a document that is kept with the results."""

    url: str
    size: int
    after: str | None = None


def is_block_file(name):
    """Is it the name of a file of Bitcoin blocks?"""
    return BLOCK_FILE.search(name) is not None


def is_of_coins(name):
    """Is it the name of the folder of a datadir's unspent coins?"""
    return name.rsplit("/", 1)[-1] == COINS


def states_totals(name):
    """Does a shard of this name need no other one to tell total difficulties? Of Bitcoin there are
    none to tell."""
    return RLP.search(name) is None


def is_archive(name):
    """Is it the name of a shard?"""
    return ARCHIVE.search(name) is not None or is_block_file(name)


def natural(name):
    """The key that puts `x-2` before `x-10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def plain(path):
    """A path as its file system says it, which is how its files are named."""
    return fsspec.core.url_to_fs(path)[1]


def archives(paths, by_sum=False):
    """The shards that paths stand for, in natural order, with their sizes: a file for itself, a
    folder for the archives in it, which their endings tell. Of a datadir they are its block files,
    and `by_sum` its unspent coins, too."""
    found = []
    for path in map(str, paths):
        fs, plain = fsspec.core.url_to_fs(path)
        url = fs.unstrip_protocol if "://" in path else str
        if not fs.isdir(plain):
            found.append(Shard(url(plain), fs.size(plain)))
            continue
        blocks = f"{plain}/{BLOCKS}"
        is_datadir = fs.isdir(blocks)
        entries = files_in(fs, blocks if is_datadir else plain)
        own = [Shard(url(e["name"]), e["size"]) for e in entries if is_archive(e["name"])]
        if is_datadir and by_sum:
            coins = f"{plain}/{COINS}"
            own.append(Shard(url(coins), sum(entry["size"] for entry in files_in(fs, coins))))
        if not own:
            what = "archives (*.era1, *.rlp, blk*.dat, also compressed)"
            raise ValueError(f"{path}: expected {what}")
        found += own
    return sorted(found, key=lambda shard: natural(shard.url))


def files_in(fs, folder):
    """The files in a folder."""
    return [entry for entry in fs.ls(folder, detail=True) if entry["type"] != "directory"]


@contextlib.contextmanager
def local(url):
    """A path of this machine under which the file can be read."""
    if "://" not in url:
        yield url
        return
    fs, plain = fsspec.core.url_to_fs(url)
    with tempfile.TemporaryDirectory(prefix="blockmill-") as folder:
        path = str(Path(folder, plain.rsplit("/", 1)[-1]))
        fs.get_file(plain, path)
        yield path


def text_beside(url, name):
    """The text of the file of this name in the folder of a file; None where there is none."""
    fs, plain = fsspec.core.url_to_fs(url)
    path = f"{plain.rpartition('/')[0]}/{name}"
    return fs.cat_file(path).decode() if fs.isfile(path) else None


class Folder:
    """A folder of results. Files get their names when they are whole, so that whatever is killed
    leaves nothing that could be taken for a result."""

    def __init__(self, url):
        self.fs, self.root = fsspec.core.url_to_fs(str(url))
        self.root = self.root.rstrip("/")
        self.is_local = isinstance(self.fs, LocalFileSystem)

    def put(self, name, data):
        """Writes bytes, or moves a file here; what has the name already is replaced."""
        path, aside = f"{self.root}/{name}", f"{self.root}/_aside/{uuid.uuid4().hex}"
        for folder in (path, aside):
            self.fs.makedirs(folder.rsplit("/", 1)[0], exist_ok=True)
        if isinstance(data, bytes):
            self.fs.pipe_file(aside, data)
        elif self.is_local:
            aside = data
        else:
            self.fs.put_file(data, aside)
        os.replace(aside, path) if self.is_local else self.fs.mv(aside, path)

    @contextlib.contextmanager
    def scratch(self):
        """A new folder of this machine for files that are going to be put here."""
        aside = f"{self.root}/_aside" if self.is_local else None
        if aside:
            os.makedirs(aside, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="blockmill-", dir=aside) as folder:
            yield Path(folder)

    def put_document(self, text):
        """Keeps what is known before some task, and says its name."""
        name = hashlib.sha256(text.encode()).hexdigest()
        self.put(f"after/{name}.json", text.encode())
        return name

    def documents(self, names):
        """Documents that are kept, one a line; None where no name is given."""
        paths = [f"{self.root}/after/{name}.json" for name in names.split()] if names else []
        return "\n".join(self.fs.cat_file(path).decode() for path in paths) or None

    def put_row(self, name, batch):
        """Writes a row as a Parquet file."""
        sink = io.BytesIO()
        with pq.ParquetWriter(sink, batch.schema) as writer:
            writer.write_batch(batch)
        self.put(name, sink.getvalue())

    def row(self, name, columns=None):
        """The row in a file; None where power was lost before it was on disk."""
        data = io.BytesIO(self.fs.cat_file(f"{self.root}/{name}"))
        try:
            [row] = pq.ParquetFile(data).read(columns, use_threads=False).to_pylist()
        except ValueError:
            return None
        return row

    def facts(self, name):
        """What the footer of a table says of itself."""
        with self.fs.open(f"{self.root}/{name}") as file:
            facts = pq.read_metadata(file).metadata or {}
        return {key.decode(): value.decode() for key, value in facts.items()}

    def remove(self, name):
        """Removes the file of this name, if there is one."""
        if self.fs.exists(f"{self.root}/{name}"):
            self.fs.rm(f"{self.root}/{name}")

    def has(self, name, size):
        """Is there a file of this name with so many bytes?"""
        try:
            return self.fs.size(f"{self.root}/{name}") == size
        except FileNotFoundError:
            return False

    def text(self, name):
        """What the file of this name has; nothing where there is none."""
        path = f"{self.root}/{name}"
        return self.fs.cat_file(path).decode() if self.fs.exists(path) else ""

    def json(self, name):
        """The document of this name, or an empty one."""
        return json.loads(self.text(name) or "{}")

    def names(self, folder):
        """The Parquet files in a folder of it."""
        path = f"{self.root}/{folder}"
        names = self.fs.ls(path, detail=False) if self.fs.isdir(path) else []
        return {f"{folder}/{name.rsplit('/', 1)[1]}" for name in names}

    def clear(self):
        """Removes what killed writers left."""
        if self.fs.isdir(f"{self.root}/_aside"):
            self.fs.rm(f"{self.root}/_aside", recursive=True)
