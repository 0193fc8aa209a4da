"""What the tests share: real data, the program to compare with, and a folder with both kinds of
archives under short names."""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

FIXTURES = Path(os.environ["BLOCKMILL_FIXTURES"])
PROGRAM = os.environ["BLOCKMILL_PROGRAM"]

ETHEREUM = FIXTURES / "ethereum"
CHAIN = ETHEREUM / "chains" / "hive-sync" / "chain.rlp"

# the name of each archive; a custom chain is next to its genesis.json
LINKS = {
    "mainnet-0.era1": ETHEREUM / "era1" / "mainnet-00000-5ec1ffb8.era1",
    "mainnet-1.era1": ETHEREUM / "era1" / "mainnet-00001-a5364e9a.era1",
    "sepolia.era1": ETHEREUM / "era1" / "sepolia-00000-643a00f7.era1",
    "hive/chain.rlp": CHAIN,
    "hive/genesis.json": CHAIN.with_name("genesis.json"),
    "blockmill-bitcoin/blk00000.dat": FIXTURES / "bitcoin" / "testnet3-0-400.dat",
    "blockmill-neo/chain50x2.acc": FIXTURES / "neo" / "chain50x2.acc",
    "blockmill-neo/chain50x2.yml": FIXTURES / "neo" / "chain50x2.yml",
}


TIME = re.compile(r"[0-9.]+ m?s\b")


class Folder:
    """A folder with archives, which goes with the test."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="blockmill-python-")
        self.path = Path(self._folder.name)
        for name, target in LINKS.items():
            (self.path / name).parent.mkdir(exist_ok=True)
            (self.path / name).symlink_to(target)
        damaged(self.path / "hive" / "damaged.rlp")

    def __truediv__(self, name):
        return self.path / name

    def close(self):
        self._folder.cleanup()


def damaged(path):
    """Writes the chain with one byte that is another."""
    chain = bytearray(CHAIN.read_bytes())
    chain[1_000_000] ^= 1
    path.write_bytes(chain)


def program(*args):
    """The document that the program prints."""
    words = [PROGRAM, *(os.fspath(arg) for arg in args), "--json"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(ended.stdout)


def lasting(answer):
    """An answer without what another run would have otherwise: its record, and times in notes."""
    lasting = {name: value for name, value in answer.items() if name != "result"}
    return {**lasting, "notes": [TIME.sub("some time", note) for note in answer["notes"]]}

