"""Bitcoin block files in shards on an engine get the verdict of a single run: headers, then bodies,
then what is left, whatever is wrong with them."""

import json
import os
import random
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import blockmill
import blockmill.spark
import pyarrow as pa
import pyarrow.parquet as pq
from spark_support import OnEngine, cut, table

BITCOIN = Path(os.environ["BLOCKMILL_FIXTURES"], "bitcoin")
PROGRAM = os.environ["BLOCKMILL_PROGRAM"]
RECIPE = "--inputs 600 --blocks 160 --stale 2 --duplicates 3 --file-size 40000"
MAGIC = bytes.fromhex("fabfb5da")


def generate(folder, *words):
    """A chain of the regression test network in some files."""
    command = [PROGRAM, "generate", "bitcoin", *RECIPE.split(), *words, "--out", folder]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def files_of(folder):
    """The block files in a folder."""
    return sorted(folder.glob("blk*.dat"))


def records(path):
    """The records of a block file."""
    data, at, found = path.read_bytes(), 0, []
    while data[at : at + 4] == MAGIC:
        size = 8 + int.from_bytes(data[at + 4 : at + 8], "little")
        found.append(data[at : at + size])
        at += size
    return found


def write_files(folder, parts):
    """A folder with each part in a block file of its own."""
    folder.mkdir()
    for i, part in enumerate(parts):
        (folder / f"blk{i:05}.dat").write_bytes(b"".join(part))
    return folder


def changed(path, at):
    """Changes a byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def core_datadir(place):
    """The datadir of Bitcoin Core among the fixtures."""
    with pa.OSFile(str(BITCOIN / "core-datadir-main-0-4521.tar.zst")) as packed:
        with tarfile.open(fileobj=pa.CompressedInputStream(packed, "zstd"), mode="r|") as tar:
            tar.extractall(place, filter="data")
    [blocks] = {path.parent for path in place.rglob("blk*.dat")}
    return blocks.parent


def rows_in(to, name):
    """The rows of a table, in the order of the chain."""
    manifest = json.loads((to / "manifest.json").read_text())
    files = [to / file["file"] for file in manifest["files"] if file["table"] == name]
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    order = ("number", "block_number", "transaction_index", "index")
    return sorted(rows, key=lambda row: [row[column] for column in order if column in row])


class OnBlocks(OnEngine):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        place = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.chain = generate(place / "chain", "--order=download")
        cls.records = [record for path in files_of(cls.chain) for record in records(path)]

    def copy(self):
        """A copy of the chain, which may be corrupted."""
        return shutil.copytree(self.chain, self.new())


class Verdicts(OnBlocks):
    SEALS = {}

    def test_good_chains_are_verified_in_1_2_and_5_shards_in_any_order(self):
        dice = random.Random(17)
        for count in (1, 2, 5):
            own = list(self.records)
            dice.shuffle(own)
            parts = cut(own, count)
            answer = self.run_both([write_files(self.new(), parts)])
            self.assertEqual((answer["status"], answer["shards"]), ("verified", count))
            self.assertEqual(answer["summary"]["last"], 160)
            # two steps for each
            self.assertEqual(answer["verified_now"], 2 * count)

    def test_levels_orders_obfuscation_and_files_by_name(self):
        answer = self.run_both([self.chain], level="headers")
        self.assertEqual((answer["status"], answer["verified_now"]), ("verified", answer["shards"]))
        for words in (["--xor"], ["--order=shuffled"], ["--order=reversed", "--xor"]):
            answer = self.run_both([generate(self.new(), *words)])
            self.assertEqual(answer["status"], "verified")
        files = files_of(self.chain)
        self.assertEqual(self.run_both(files)["status"], "verified")
        self.assertEqual(self.run_both(files[:2])["status"], "incomplete")
        self.assertEqual(self.run_both(files[:2], partial=True)["status"], "partial")
        # from the middle of the chain
        self.run_both(files[1:2])
        self.run_both(files[2:])

    def test_real_blocks(self):
        for path, height in [("testnet3-0-400.dat", 400), ("mainnet-0-4521.dat", 4_521)]:
            answer = self.run_both([BITCOIN / path], partial=True)
            self.assertEqual((answer["status"], answer["summary"]["last"]), ("partial", height))
        answer = self.run_both([core_datadir(self.new()) / "blocks"])
        self.assertEqual((answer["status"], answer["summary"]["last"]), ("verified", 4_521))

    def test_corruption_in_one_file(self):
        statuses = set()
        size = files_of(self.chain)[1].stat().st_size
        # a body, a header, a frame; anywhere
        first = len(records(files_of(self.chain)[1])[0])
        places = [first - 1, 8 + 40, 4, first, *random.Random(18).sample(range(size), 8)]
        for at in places:
            with self.subTest(at=at):
                blocks = self.copy()
                changed(files_of(blocks)[1], at)
                statuses.add(self.run_both([blocks])["status"])
        self.assertGreater(len(statuses), 1, statuses)

    def test_files_that_are_cut_empty_or_full_of_zeros(self):
        data = files_of(self.chain)[1].read_bytes()
        for bad in (data[:-500], b"", bytes(len(data)), bytes(500) + data[500:]):
            with self.subTest(size=len(bad), first=bad[:4]):
                blocks = self.copy()
                files_of(blocks)[1].write_bytes(bad)
                self.assertNotEqual(self.run_both([blocks])["status"], "verified")
        blocks = self.copy()
        (blocks / "blk00099.dat").write_bytes(bytes(5_000))
        self.run_both([blocks])

    def test_missing_and_doubled_files(self):
        count = len(files_of(self.chain))
        for missing in (0, 1, count - 1):
            blocks = self.copy()
            files_of(blocks)[missing].unlink()
            answer = self.run_both([blocks])
            if missing == 1:
                self.assertEqual(answer["status"], "incomplete")
                texts = [shortfall["text"] for shortfall in answer["shortfalls"]]
                self.assertTrue(any("blk00001.dat is not in" in text for text in texts), texts)
        blocks = self.copy()
        shutil.copy(files_of(blocks)[1], blocks / f"blk{count:05}.dat")
        self.assertEqual(self.run_both([blocks])["status"], "verified")

    def test_a_bad_body_has_another_copy_in_another_file(self):
        blocks = self.copy()
        path, count = files_of(blocks)[1], len(files_of(blocks))
        shutil.copy(path, blocks / f"blk{count:05}.dat")
        changed(path, len(records(path)[0]) - 1)
        answer = self.run_both([blocks])
        self.assertEqual(answer["status"], "verified")
        # headers of all, bodies of all but the copy, and then of one block in it
        self.assertEqual(answer["verified_now"], 2 * answer["shards"])

    def test_urls_are_refused(self):
        with self.assertRaisesRegex(ValueError, "block files at paths of this machine"):
            blockmill.spark.verify(self.spark, f"file://{self.chain}", self.new())


class Rows(OnBlocks):
    def verify(self, to):
        return blockmill.spark.verify(self.spark, self.chain, to)

    def test_finished_tasks_are_not_done_again(self):
        to = self.new()
        first = self.verify(to)
        shards = first["shards"]
        rows = table(to)
        steps = [row["document"] for row in rows]
        self.assertEqual((steps.count("headers"), steps.count("bodies")), (shards, shards))
        self.assertEqual(first["verified_now"], 2 * shards)
        # each task gets the table of its shard alone
        for row in rows:
            if row["after"]:
                document = json.loads((to / "after" / f"{row['after']}.json").read_text())
                self.assertEqual([it["path"] for it in document["sources"]], [row["shard"]])
                self.assertEqual(len(document["rows"]), row["blocks"])
        again = self.verify(to)
        self.assertEqual((again["verified_now"], again["finished_before"]), (0, 2 * shards))
        self.assertEqual((again["summary"], table(to)), (first["summary"], rows))
        # another level needs headers alone
        answer = blockmill.spark.verify(self.spark, self.chain, to, level="headers")
        self.assertEqual(answer["verified_now"], shards)

    def test_a_driver_that_ends_in_the_second_step_resumes(self):
        to, undisturbed = self.new(), self.new()
        fixed = {"seal_seed": 1, "now": 1_900_000_000}
        blockmill.spark.verify(self.spark, self.chain, undisturbed, **fixed)
        with self.ends_in_the_second_step():
            blockmill.spark.verify(self.spark, self.chain, to, **fixed)
        self.assertFalse((to / "verdict.json").exists())
        answer = self.verify(to)
        shards = answer["shards"]
        counts = answer["verified_now"], answer["finished_before"]
        self.assertEqual(counts, (shards - 2, shards + 2))
        self.assertEqual(table(to), table(undisturbed))

    def test_a_row_names_the_bad_block(self):
        blocks, to = self.copy(), self.new()
        path = files_of(blocks)[1]
        changed(path, len(records(path)[0]) - 1)
        answer = blockmill.spark.verify(self.spark, blocks, to)
        [row] = [row for row in table(to) if row["status"] != "verified"]
        error = answer["error"]
        self.assertEqual(row["shard"], str(path))
        for name in ("block", "hash", "file", "offset", "rule", "expected", "found"):
            self.assertEqual(row[name], error[name], name)


class Tables(OnBlocks):
    TABLES = ["blocks", "transactions", "inputs", "outputs"]

    def expect_same(self, blocks):
        """Tables of the engine, which have the rows of a single run; their files."""
        to, alone = self.new(), self.new()
        answer = blockmill.spark.export(self.spark, blocks, to, self.TABLES, seal="off")
        self.assertEqual(answer["status"], "verified", answer)
        blockmill.export(blocks, alone, tables=self.TABLES, level="bodies")
        for name in self.TABLES:
            self.assertEqual(rows_in(to, name), rows_in(alone, name), name)
        self.assertFalse((to / "_aside").exists())
        own, other = (json.loads((it / "manifest.json").read_text()) for it in (to, alone))
        for part in own.keys() - {"files"}:
            self.assertEqual(own[part], other[part], part)
        again = blockmill.spark.export(self.spark, blocks, to, self.TABLES, seal="off")
        self.assertEqual(again["verified_now"], 0)
        self.assertEqual(json.loads((to / "manifest.json").read_text()), own)
        return own["files"]

    def test_tables_are_those_of_a_single_run_in_1_2_and_5_shards_in_any_order(self):
        dice = random.Random(19)
        for count in (1, 2, 5):
            own = list(self.records)
            dice.shuffle(own)
            parts = cut(own, count)
            files = self.expect_same(write_files(self.new(), parts))
            self.assertEqual(len(files), count * len(self.TABLES))
            self.assertTrue(all(file["source_sha256"] for file in files))

    def test_another_copy_of_a_bad_block_has_its_rows(self):
        blocks = self.copy()
        path, count = files_of(blocks)[1], len(files_of(blocks))
        shutil.copy(path, blocks / f"blk{count:05}.dat")
        changed(path, len(records(path)[0]) - 1)
        self.expect_same(blocks)

    def test_no_manifest_says_that_bad_blocks_are_a_chain(self):
        blocks, to = self.copy(), self.new()
        path = files_of(blocks)[1]
        changed(path, len(records(path)[0]) - 1)
        answer = blockmill.spark.export(self.spark, blocks, to, ["blocks"], seal="off")
        self.assertNotEqual(answer["status"], "verified")
        self.assertFalse((to / "manifest.json").exists())


if __name__ == "__main__":
    unittest.main()
