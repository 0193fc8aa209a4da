"""What the tests of blockmill.spark share: engines, chains that are cut and damaged."""

import itertools
import os
import tempfile
import unittest
from pathlib import Path

from blockmill.spark.__main__ import session

FIXTURES = Path(os.environ["BLOCKMILL_FIXTURES"], "ethereum")
ERAS = [FIXTURES / "era1" / f"mainnet-0000{i}.era1" for i in ("0-5ec1ffb8", "1-a5364e9a")]
MASTER = os.environ.get("BLOCKMILL_SPARK_MASTER", "sail")
MASK = (1 << 64) - 1


class OnEngine(unittest.TestCase):
    """Tests on one engine: that of BLOCKMILL_SPARK_MASTER, or Sail in this process."""

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


def write_units(folder, name, *parts):
    """A folder with each part in a file of its own, beside the chain's genesis.json."""
    folder.mkdir()
    genesis = FIXTURES / "chains" / name / "genesis.json"
    (folder / "genesis.json").write_bytes(genesis.read_bytes())
    for i, part in enumerate(parts):
        (folder / f"part-{i}.rlp").write_bytes(b"".join(part))
    return folder


def cut(blocks, units):
    """The blocks in so many parts."""
    size = -(-len(blocks) // units)
    return [blocks[at : at + size] for at in range(0, len(blocks), size)]
