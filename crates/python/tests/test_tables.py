"""Tables: files as the program writes them, and streams that others read."""

import json
import threading
import time
import unittest

import duckdb
import polars

import blockmill
from support import Folder, program

TABLES = ["blocks", "transactions", "withdrawals"]


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.chain = cls.folder / "hive/chain.rlp"

    def test_a_manifest_is_that_of_the_program(self):
        theirs, ours = self.folder / "theirs", self.folder / "ours"
        words = ["--tables", ",".join(TABLES), "--level", "bodies", "--seal", "off"]
        program("export", *words, "--seal-seed", "1", "--to", theirs, self.chain)
        manifest = blockmill.export(
            self.chain, ours, tables=TABLES, level="bodies", seal="off", seal_seed=1
        )
        self.assertEqual(manifest, json.loads((ours / "manifest.json").read_text()))
        expected = json.loads((theirs / "manifest.json").read_text())
        del manifest["program"], expected["program"]
        for file in manifest["files"] + expected["files"]:
            # the footer names the program
            del file["bytes"]
        self.assertEqual(manifest, expected)
        self.assertEqual(manifest["verified"], "chain")

    def test_what_is_there_is_replaced_only_when_that_was_asked_for(self):
        to = self.folder / "twice"
        options = {"tables": "blocks", "level": "headers", "seal": "off"}
        blockmill.export(self.chain, to, **options)
        with self.assertRaises(blockmill.UsageError):
            blockmill.export(self.chain, to, **options)
        blockmill.export(self.chain, to, force=True, **options)

    def test_an_export_in_two_parts_has_the_rows_of_one(self):
        whole, parts = self.folder / "one", self.folder / "two"
        options = {"tables": "all", "level": "bodies", "seal": "off", "partition": "blocks=1000"}
        blockmill.export(self.chain, whole, **options)
        blockmill.export(self.chain, parts, until=1500, **options)
        manifest = blockmill.export(self.chain, parts, append=True, **options)
        self.assertEqual((manifest["first"], manifest["last"]), (1, 3000))
        self.assertEqual(manifest["partition"], "blocks=1000")
        for table in ["blocks", "transactions"]:
            frames = [
                polars.read_parquet(f"{folder}/{table}/*/*.parquet", hive_partitioning=True)
                for folder in (whole, parts)
            ]
            self.assertTrue(frames[0].equals(frames[1]), table)
            ranges = frames[0]["block_range"].n_unique()
            # the last block has no transaction
            self.assertEqual(ranges, 4 if table == "blocks" else 3)
        with self.assertRaisesRegex(blockmill.UsageError, "expected tables"):
            blockmill.export(self.chain, parts, append=True, **{**options, "tables": "blocks"})

    def test_the_schema_is_that_of_the_files(self):
        to = self.folder / "schema"
        blockmill.export(self.chain, to, level="bodies", seal="off", hex=True, names="cryo")
        columns = blockmill.tables(hex=True, names="cryo")
        for table in ["blocks", "transactions"]:
            own = [
                it["column"]
                for it in columns
                if (it["chain"], it["table"]) == ("ethereum", table)
            ]
            self.assertEqual(polars.read_parquet(to / f"*__{table}__*.parquet").columns, own)
        levels = {it["null_below_level"] for it in columns}
        self.assertEqual({None, "bodies", "execution"}, levels)
        self.assertFalse([it for it in columns if "binary" in it["type"] or not it["about"]])
        with self.assertRaises(blockmill.UsageError):
            blockmill.tables(names="other")

    def test_a_fault_leaves_no_manifest(self):
        to = self.folder / "faulty"
        with self.assertRaises(blockmill.Invalid):
            blockmill.export(
                self.folder / "hive/damaged.rlp", to, tables="blocks", level="bodies", seal="off"
            )
        self.assertFalse((to / "manifest.json").exists())

    def test_shards_have_the_rows_of_the_whole(self):
        to, whole = self.folder / "shards", self.folder / "whole"
        paths = [self.folder / "mainnet-0.era1", self.folder / "mainnet-1.era1"]
        # without `now`, a summary has the second in which its run began
        options = {"level": "bodies", "seal": "off", "seal_seed": 1, "now": 1_790_000_000}
        shards = [blockmill.export_shard(path, to, tables="blocks", **options) for path in paths]
        manifest = blockmill.export(paths, whole, tables="blocks", **options)
        files = [file for shard in shards for file in shard["files"]]
        names = [file["file"] for file in manifest["files"]]
        self.assertEqual([file["file"] for file in files], names)
        for name in names:
            rows = [polars.read_parquet(folder / name) for folder in [to, whole]]
            self.assertTrue(rows[0].equals(rows[1]), name)
            metadata = polars.read_parquet_metadata(to / name)
            self.assertEqual(metadata["blockmill.verified"], "partition")
        self.assertFalse((to / "manifest.json").exists())
        self.assertEqual(shards[1]["summary"], blockmill.verify_shard(paths[1], **options))
        merged = blockmill.merge(shard["summary"] for shard in shards)
        self.assertEqual(merged["status"], "verified")

    def test_a_shard_at_fault_gives_a_summary_and_no_files(self):
        to = self.folder / "bad-shard"
        shard = blockmill.export_shard(
            self.folder / "hive/damaged.rlp", to, tables="blocks", level="bodies", seal="off"
        )
        self.assertEqual((shard["summary"]["status"], shard["files"]), ("invalid", []))
        self.assertEqual(list(to.iterdir()), [])


class Read(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.chain = cls.folder / "hive/chain.rlp"
        cls.options = {"level": "bodies", "seal": "off"}

    def test_polars_and_duckdb_read_what_an_export_has(self):
        for archive, tables, options in [
            ("hive/chain.rlp", ["blocks", "transactions", "withdrawals"], self.options),
            ("mainnet-0.era1", ["blocks"], {"level": "headers", "seal": "off"}),
            ("blockmill-bitcoin/blk00000.dat", ["blocks", "outputs"], {"partial": True}),
            ("blockmill-neo/chain50x2.acc", ["blocks", "transfers"], {}),
        ]:
            archive = self.folder / archive
            to = self.folder / archive.name.replace(".", "-")
            blockmill.export(archive, to, tables=tables, **options)
            for table in tables:
                with self.subTest(archive=archive.name, table=table):
                    expected = polars.read_parquet(to / f"*-{table}-*.parquet")
                    frame = polars.DataFrame(blockmill.read(archive, table, **options))
                    self.assertEqual(frame.schema, expected.schema)
                    self.assertTrue(frame.equals(expected))
                    self.assertGreater(len(frame), 0)
                    rows = blockmill.read(archive, table, **options)
                    count = duckdb.sql("select count(*) from rows").fetchall()
                    self.assertEqual(count, [(len(expected),)])
                    rows.check()
                    self.assertIn(rows.answer["status"], ["verified", "partial"])

    def test_batches_are_arrow_and_end_with_the_verdict(self):
        rows = blockmill.read(self.chain, "transactions", **self.options)
        self.assertIsNone(rows.answer)
        batches = list(rows)
        self.assertEqual(sum(map(len, batches)), 546)
        frame = polars.concat(polars.DataFrame(batch) for batch in batches)
        self.assertEqual(len(frame), 546)
        self.assertEqual(rows.answer["status"], "verified")
        self.assertEqual(list(rows), [])

    def test_a_fault_is_raised_after_the_rows_before_it(self):
        damaged = self.folder / "hive/damaged.rlp"
        with self.assertRaises(blockmill.Invalid) as expected:
            blockmill.verify(damaged, **self.options)
        rows, seen = blockmill.read(damaged, "blocks", **self.options), 0
        with self.assertRaises(blockmill.Invalid) as caught:
            for batch in rows:
                seen += len(batch)
        self.assertEqual(str(caught.exception), str(expected.exception))
        self.assertEqual(seen, caught.exception.block - 1)
        rows = blockmill.read(damaged, "blocks", **self.options)
        with self.assertRaisesRegex(Exception, "block 1647"):
            polars.DataFrame(rows)
        with self.assertRaises(blockmill.Invalid):
            rows.check()

    def test_what_cannot_begin_raises_at_once(self):
        with self.assertRaises(blockmill.UsageError):
            blockmill.read(self.chain, "ledgers", **self.options)
        with self.assertRaises(blockmill.UsageError):
            blockmill.read(self.chain, "blocks,transactions", **self.options)
        with self.assertRaises(FileNotFoundError):
            blockmill.read(self.folder / "nothing", "blocks")

    def test_rows_are_read_once(self):
        rows = blockmill.read(self.chain, "blocks", **self.options)
        polars.DataFrame(rows)
        with self.assertRaises(ValueError):
            rows.__arrow_c_stream__()

    def test_who_stops_reading_ends_the_run(self):
        paths = [self.folder / "mainnet-0.era1", self.folder / "mainnet-1.era1"]
        rows = blockmill.read(paths, "blocks", level="headers", seal="all", threads=1, chunk=64)
        next(iter(rows))
        begun = time.monotonic()
        rows.close()
        self.assertLess(time.monotonic() - begun, 10)
        self.assertEqual(rows.answer["status"], "interrupted")
        self.assertEqual(list(polled(lambda: native_threads() == 0)), [])

    def test_a_dropped_stream_ends_the_run(self):
        paths = [self.folder / "mainnet-0.era1", self.folder / "mainnet-1.era1"]
        rows = blockmill.read(paths, "blocks", level="headers", seal="all", threads=1, chunk=64)
        stream = rows.__arrow_c_stream__()
        del stream
        self.assertEqual(list(polled(lambda: rows.answer is not None)), [])
        self.assertEqual(rows.answer["status"], "interrupted")

    def test_a_slow_reader_has_all_rows(self):
        rows = blockmill.read(self.chain, "blocks", chunk=50, **self.options)
        seen = 0
        for batch in rows:
            seen += len(batch)
            time.sleep(0.005)
        self.assertEqual(seen, 3000)

    def test_many_threads_read_side_by_side(self):
        counts = []

        def count():
            rows = blockmill.read(self.chain, "transactions", threads=1, **self.options)
            counts.append(sum(map(len, rows)))

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counts, [546] * 4)


def native_threads():
    """Threads of this process that verify. Those that speak with servers stay."""
    import pathlib

    tasks = pathlib.Path("/proc/self/task").glob("*/comm")
    ours = [name for name in (task.read_text() for task in tasks) if name.startswith("blockmill")]
    return sum(not name.startswith("blockmill-r") for name in ours)


def polled(done, seconds=20):
    """Nothing when `done` becomes true in time."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            yield "not done"
            return
        time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
