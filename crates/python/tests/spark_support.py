"""What the tests of blockmill.spark share: engines, chains that are cut and corrupted."""

import contextlib
import itertools
import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import blockmill
import blockmill.spark
import pyarrow.parquet as pq
from blockmill.spark.__main__ import session

FIXTURES = Path(os.environ["BLOCKMILL_FIXTURES"], "ethereum")
ERAS = [FIXTURES / "era1" / f"mainnet-0000{i}.era1" for i in ("0-5ec1ffb8", "1-a5364e9a")]
MASTER = os.environ.get("BLOCKMILL_SPARK_MASTER", "sail")
MASK = (1 << 64) - 1


class OnEngine(unittest.TestCase):
    """Tests on one engine: that of BLOCKMILL_SPARK_MASTER, or Sail in this process."""

    # what single runs of the chain are asked for; other chains have no seals
    SEALS = {"seal": "off"}

    @classmethod
    def setUpClass(cls):
        cls.spark, end = session(MASTER, ["spark.ui.enabled=false"])
        cls.addClassCleanup(end)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.numbers = itertools.count()

    def new(self):
        """A name in the folder of the test that nothing has."""
        return self.folder / f"{next(self.numbers)}"

    def run_both(self, paths, level="bodies", partial=False):
        """The verdict of the engine, which is that of a single run."""
        paths = [str(path) for path in paths]
        to = self.new()
        asked = {"level": level, "partial": partial}
        answer = blockmill.spark.verify(self.spark, paths, to, seal="off", **asked)
        alone = single_run(paths, **asked, **self.SEALS)
        self.compare(answer, alone)
        self.assertEqual(json.loads((to / "verdict.json").read_text())["status"], answer["status"])
        if answer["shards"] > 2:
            # the same from the rows, whatever is held in memory at once
            with mock.patch.object(blockmill.spark.verdict, "HELD", 2):
                again = blockmill.spark.verify(self.spark, paths, to, seal="off", **asked)
            (again["error"] or {}).pop("hint", None)
            self.assertEqual(again["verified_now"], 0)
            for part in ("status", "error", "shortfalls", "notes", "summary"):
                self.assertEqual(again[part], answer[part], part)
        for row in table(to):
            self.expect_document_of_its_own(row, to, level)
        return answer

    def compare(self, answer, alone):
        """Holds a verdict of the engine to that of a single run."""
        # advice for the command line is no part of a verdict
        for verdict in (answer, alone):
            (verdict["error"] or {}).pop("hint", None)
        for part in ("status", "error", "shortfalls"):
            self.assertEqual(answer[part], alone[part], part)
        if answer["error"] is None:
            self.assertEqual(reached(answer), reached_alone(alone))

    @contextlib.contextmanager
    def ends_in_the_second_step(self):
        """The driver ends when two shards have done their second step."""
        of = blockmill.spark.rows.Rows.of

        def some(rows, shards):
            if shards[0].after:
                of(rows, shards[:2])
                raise KeyboardInterrupt
            return of(rows, shards)

        with mock.patch.object(blockmill.spark.rows.Rows, "of", some):
            with self.assertRaises(KeyboardInterrupt):
                yield

    def expect_document_of_its_own(self, row, to, level):
        """What a row has of its shard is what a process by itself finds."""
        document, after = json.loads(row["summary"]), None
        if row["after"]:
            after = (to / "after" / f"{row['after']}.json").read_text()
        options = json.loads(row["options"])
        # a genesis.json is next to its shards
        fixed = {name: options[name] for name in ("chain", "seal", "seal_seed", "now")}
        one = blockmill.verify_shard(row["shard"], after=after, level=level, **fixed)
        self.assertEqual(document, one)


def table(to):
    """The table of results."""
    files = sorted(Path(to, "shards").iterdir())
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    return sorted(rows, key=lambda row: (row["shard"], row["after"] or ""))


def single_run(paths, **asked):
    """The answer of a single run."""
    try:
        return blockmill.verify(paths, **asked)
    except blockmill.VerifyError as error:
        return error.answer


def reached(answer):
    """How far the engine came."""
    summary = answer["summary"]
    if "document" in summary:
        names = ("blocks", "first", "last", "tip")
        return {**{name: summary[name] for name in names}, "total_difficulty": None}
    first, last = summary["first"], summary["last"]
    return {
        "blocks": summary["blocks"],
        "first": first["number"],
        "last": last["number"],
        "tip": last["hash"],
        "total_difficulty": last.get("total_difficulty"),
    }


def reached_alone(answer):
    """How far a single run came."""
    data, result = answer["result"]["data"], answer["result"]["result"]
    found = {name: data[name] for name in ("blocks", "first", "last")}
    return {**found, "tip": result["tip_hash"], "total_difficulty": result["total_difficulty"]}


def rotated(word, by):
    return (word << by | word >> (64 - by)) & MASK if by else word


def round_constants():
    state = 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            if state & 1:
                constant |= 1 << ((1 << j) - 1)
            state = state << 1 ^ (0x171 if state & 0x80 else 0)
        yield constant


def keccak256(data):
    """The hash of Ethereum, by its definition."""
    rate = 136
    padded = bytearray(data + b"\x01" + bytes(-(len(data) + 1) % rate))
    padded[-1] |= 0x80
    lanes = [[0] * 5 for _ in range(5)]
    for start in range(0, len(padded), rate):
        for i in range(rate // 8):
            word = padded[start + 8 * i : start + 8 * i + 8]
            lanes[i % 5][i // 5] ^= int.from_bytes(word, "little")
        for constant in round_constants():
            parity = [a[0] ^ a[1] ^ a[2] ^ a[3] ^ a[4] for a in lanes]
            for x in range(5):
                mix = parity[x - 1] ^ rotated(parity[(x + 1) % 5], 1)
                lanes[x] = [lane ^ mix for lane in lanes[x]]
            (x, y), lane = (1, 0), lanes[1][0]
            for t in range(24):
                x, y = y, (2 * x + 3 * y) % 5
                lane, lanes[x][y] = lanes[x][y], rotated(lane, (t + 1) * (t + 2) // 2 % 64)
            for y in range(5):
                row = [lanes[x][y] for x in range(5)]
                for x in range(5):
                    lanes[x][y] = row[x] ^ ~row[(x + 1) % 5] & row[(x + 2) % 5] & MASK
            lanes[0][0] ^= constant
    return b"".join(lanes[x][0].to_bytes(8, "little") for x in range(4))


def items(encoded):
    """The items in the payload of a list, or in a file, each as it is encoded."""
    at, found = 0, []
    while at < len(encoded):
        first, start = encoded[at], 1
        if first < 0x80:
            size, start = 1, 0
        elif first < 0xB8 or 0xC0 <= first < 0xF8:
            size = first - (0x80 if first < 0xC0 else 0xC0)
        else:
            start += first - (0xB7 if first < 0xC0 else 0xF7)
            size = int.from_bytes(encoded[at + 1 : at + start], "big")
        found.append(encoded[at : at + start + size])
        at += start + size
    return found


def payload(item):
    """What is in an item."""
    if item[0] < 0x80:
        return item
    is_short = item[0] < 0xB8 or 0xC0 <= item[0] < 0xF8
    return item[1 if is_short else 1 + item[0] - (0xB7 if item[0] < 0xC0 else 0xF7) :]


def encoded(payload, short=0xC0):
    """A list of this payload, or a string."""
    if len(payload) < 56:
        return bytes([short + len(payload)]) + payload
    size = len(payload).to_bytes((len(payload).bit_length() + 7) // 8, "big")
    return bytes([short + 55 + len(size)]) + size + payload


def chain(name):
    """The blocks of a published chain."""
    return items((FIXTURES / "chains" / name / "chain.rlp").read_bytes())


def with_header(block, place, value):
    """A block whose header has this item at a place."""
    header, *body = items(payload(block))
    fields = items(payload(header))
    fields[place] = value
    return encoded(b"".join([encoded(b"".join(fields)), *body]))


def with_ommers(block, ommers):
    """A block with this list of ommers, which its header names."""
    header, transactions, _, *rest = items(payload(block))
    block = encoded(b"".join([header, transactions, ommers, *rest]))
    return with_header(block, 1, encoded(keccak256(ommers), 0x80))


def relinked(blocks, start):
    """The blocks, each from `start` on with the hash of the one before it."""
    blocks = list(blocks)
    for i in range(start, len(blocks)):
        parent = keccak256(items(payload(blocks[i - 1]))[0])
        blocks[i] = with_header(blocks[i], 0, encoded(parent, 0x80))
    return blocks


def write_shards(folder, name, *parts):
    """A folder with a file for each part, and the chain's genesis.json."""
    folder.mkdir()
    genesis = FIXTURES / "chains" / name / "genesis.json"
    (folder / "genesis.json").write_bytes(genesis.read_bytes())
    for i, part in enumerate(parts):
        (folder / f"part-{i}.rlp").write_bytes(b"".join(part))
    return folder


def cut(blocks, shards):
    """The blocks in so many parts."""
    size = -(-len(blocks) // shards)
    return [blocks[at : at + size] for at in range(0, len(blocks), size)]


def cut_anywhere(dice, blocks):
    """The blocks in two or more parts, some of them of a block or two."""
    cuts = {dice.randrange(1, len(blocks)) for _ in range(dice.randint(1, 4))}
    near = dice.randrange(1, len(blocks) - 4)
    cuts |= set(range(near, near + dice.randint(0, 3)))
    ends = [0, *sorted(cuts), len(blocks)]
    return [blocks[start:end] for start, end in itertools.pairwise(ends)]
