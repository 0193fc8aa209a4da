"""Files and folders of archives and results: local ones, and all that fsspec supports."""

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

from .. import _native
from .._arguments import is_url

PACKED = r"(\.(gz|zst|zstd|xz|bz2))?$"
BLOCK_FILE = re.compile(rf"(^|/)blk\d+\.dat{PACKED}")
# in a datadir of Bitcoin Core
BLOCKS, COINS = "blocks", "chainstate"
ARCHIVE = re.compile(rf"(\.era1?|\.erae|\.ere|\.rlp){PACKED}")
RLP = re.compile(rf"\.rlp{PACKED}")


def sealed(document):
    """The text of a changed document of `verify --shard`, with the checksum that a merge requires:
    the SHA-256 of all other members, sorted, without spaces."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({**rest, "checksum": checksum}, separators=(",", ":"))


class Shard(NamedTuple):
    """A file to verify. `after` names documents in the results that its task needs."""

    url: str
    size: int
    after: str | None = None


def is_block_file(name):
    """Returns whether this is the name of a Bitcoin block file."""
    return BLOCK_FILE.search(name) is not None


def is_of_coins(name):
    """Returns whether this is the name of the folder of unspent coins in a datadir."""
    return name.rsplit("/", 1)[-1] == COINS


def states_totals(name):
    """Returns whether a shard of this name states total difficulties, or needs none (Bitcoin)."""
    return RLP.search(name) is None


def is_archive(name):
    """Returns whether this is the name of an archive."""
    return ARCHIVE.search(name) is not None or is_block_file(name)


def natural(name):
    """A sort key that puts `x-2` before `x-10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def plain(path):
    """A path in the form that its file system uses for names of files."""
    return fsspec.core.url_to_fs(path)[1]


def archives(paths, with_coins=False):
    """The shards of these paths, in natural order: a file is a shard, a folder has one for each
    archive in it, recognised by its extension. The shards of a datadir are its block files, and
    `with_coins` also its unspent coins."""
    found = []
    for path in map(str, paths):
        if is_url(path):
            found += remote_archives(path)
            continue
        fs, plain = fsspec.core.url_to_fs(path)
        url = fs.unstrip_protocol if "://" in path else str
        if not fs.isdir(plain):
            found.append(Shard(url(plain), fs.size(plain)))
            continue
        blocks = f"{plain}/{BLOCKS}"
        is_datadir = fs.isdir(blocks)
        entries = files_in(fs, blocks if is_datadir else plain)
        own = [Shard(url(e["name"]), e["size"]) for e in entries if is_archive(e["name"])]
        if is_datadir and with_coins:
            coins = f"{plain}/{COINS}"
            own.append(Shard(url(coins), sum(entry["size"] for entry in files_in(fs, coins))))
        if not own:
            what = "archives (*.era1, *.ere, *.era, *.rlp, blk*.dat, also compressed)"
            raise ValueError(f"{path}: expected {what}")
        found += own
    return sorted(found, key=lambda shard: natural(shard.url))


def remote_archives(url):
    """The shards at the URL of a file or a folder."""
    files = [Shard(name, size) for name, size in _native.remote_files(url)]
    own = [shard for shard in files if shard.url == url or is_archive(shard.url)]
    if not own:
        what = "archives (*.era1, *.ere, *.era, *.rlp, blk*.dat, also compressed)"
        raise ValueError(f"{url}: expected {what}")
    return own


def files_in(fs, folder):
    """The files in a folder."""
    return [entry for entry in fs.ls(folder, detail=True) if entry["type"] != "directory"]


@contextlib.contextmanager
def local(url):
    """A path for reading the file: a path of this machine, or a URL that blockmill reads. Files of
    other systems are copied."""
    if "://" not in url or is_url(url):
        yield url
        return
    fs, plain = fsspec.core.url_to_fs(url)
    with tempfile.TemporaryDirectory(prefix="blockmill-") as folder:
        path = str(Path(folder, plain.rsplit("/", 1)[-1]))
        fs.get_file(plain, path)
        yield path


def text_next_to(url, name):
    """The text of a file with this name in the folder of `url`. None if there is none."""
    if is_url(url):
        try:
            file = _native.RemoteFile(f"{url.rpartition('/')[0]}/{name}")
        except FileNotFoundError:
            return None
        return file.read(file.size).decode()
    fs, plain = fsspec.core.url_to_fs(url)
    path = f"{plain.rpartition('/')[0]}/{name}"
    return fs.cat_file(path).decode() if fs.isfile(path) else None


class Folder:
    """A folder of results. Files get their names when they are complete, so a killed process leaves
    no partial result."""

    def __init__(self, url):
        self.fs, self.root = fsspec.core.url_to_fs(str(url))
        self.root = self.root.rstrip("/")
        self.is_local = isinstance(self.fs, LocalFileSystem)

    def put(self, name, data):
        """Writes bytes to a file, or moves a file here. Replaces an existing file."""
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
        """A temporary folder on this machine for files that will be moved here."""
        aside = f"{self.root}/_aside" if self.is_local else None
        if aside:
            os.makedirs(aside, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="blockmill-", dir=aside) as folder:
            yield Path(folder)

    def put_document(self, text):
        """Stores an input document of a task. Returns its name."""
        name = hashlib.sha256(text.encode()).hexdigest()
        self.put(f"after/{name}.json", text.encode())
        return name

    def documents(self, names):
        """The stored documents of these names, one a line. None without names."""
        paths = [f"{self.root}/after/{name}.json" for name in names.split()] if names else []
        return "\n".join(self.fs.cat_file(path).decode() for path in paths) or None

    def put_row(self, name, batch):
        """Writes a row as a Parquet file."""
        sink = io.BytesIO()
        with pq.ParquetWriter(sink, batch.schema) as writer:
            writer.write_batch(batch)
        self.put(name, sink.getvalue())

    def row(self, name, columns=None):
        """The row in a file. None if the file is incomplete, for example after a power failure."""
        data = io.BytesIO(self.fs.cat_file(f"{self.root}/{name}"))
        try:
            [row] = pq.ParquetFile(data).read(columns, use_threads=False).to_pylist()
        except ValueError:
            return None
        return row

    def facts(self, name):
        """The metadata in the footer of a table."""
        with self.fs.open(f"{self.root}/{name}") as file:
            facts = pq.read_metadata(file).metadata or {}
        return {key.decode(): value.decode() for key, value in facts.items()}

    def remove(self, name):
        """Removes the file with this name, if there is one."""
        if self.fs.exists(f"{self.root}/{name}"):
            self.fs.rm(f"{self.root}/{name}")

    def has(self, name, size):
        """Returns whether there is a file with this name and size."""
        try:
            return self.fs.size(f"{self.root}/{name}") == size
        except FileNotFoundError:
            return False

    def text(self, name):
        """The text of the file with this name. Empty if there is none."""
        path = f"{self.root}/{name}"
        return self.fs.cat_file(path).decode() if self.fs.exists(path) else ""

    def json(self, name):
        """The JSON document with this name. Empty if there is none."""
        return json.loads(self.text(name) or "{}")

    def names(self, folder):
        """The names of the files in a subfolder."""
        path = f"{self.root}/{folder}"
        names = self.fs.ls(path, detail=False) if self.fs.isdir(path) else []
        return {f"{folder}/{name.rsplit('/', 1)[1]}" for name in names}

    def clear(self):
        """Removes the temporary files of killed writers."""
        if self.fs.isdir(f"{self.root}/_aside"):
            self.fs.rm(f"{self.root}/_aside", recursive=True)
