"""Shards of a chain, verified alone and merged, get the verdict of a run over all of them."""

import json
import unittest

import blockmill
from support import Folder, program

# without it, a summary has the second in which its run began
NOW = 1_790_000_000


class Shards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.options = {"level": "headers", "seal": "off", "seal_seed": 1, "now": NOW}
        cls.paths = [cls.folder / "mainnet-0.era1", cls.folder / "mainnet-1.era1"]
        cls.summaries = [blockmill.verify_shard(path, **cls.options) for path in cls.paths]

    def test_a_summary_is_that_of_the_program(self):
        words = f"verify --shard --level headers --seal off --seal-seed 1 --now {NOW}"
        for path, summary in zip(self.paths, self.summaries):
            expected = program(*words.split(), path)["result"]
            self.assertEqual(summary, expected)

    def test_a_merge_is_that_of_the_program(self):
        files = []
        for at, summary in enumerate(self.summaries):
            files.append(self.folder / f"{at}.json")
            files[-1].write_text(json.dumps(summary))
        expected = program("verify", "--merge", "--now", str(NOW), *files)
        self.assertEqual(blockmill.merge(self.summaries, now=NOW), expected)
        texts = [json.dumps(summary) for summary in reversed(self.summaries)]
        self.assertEqual(blockmill.merge(texts, now=NOW), expected)
        self.assertEqual(expected["result"]["blocks"], 16384)
        self.assertEqual(expected["status"], "verified")

    def test_a_shard_after_another_needs_no_anchor(self):
        first, second = self.summaries
        after = blockmill.verify_shard(self.paths[1], after=first, **self.options)
        self.assertIsNotNone(second["anchor"])
        self.assertNotIn("anchor", after)
        self.assertEqual(after["last"]["hash"], second["last"]["hash"])

    def test_a_missing_part_is_reported_and_raises_nothing(self):
        options = {"level": "bodies", "seal": "off"}
        ranges = [(0, 999), (2000, 3000)]
        parts = [
            blockmill.verify_shard(
                self.folder / "hive/chain.rlp", from_=first, until=last, **options
            )
            for first, last in ranges
        ]
        answer = blockmill.merge(parts, chain=self.folder / "hive/genesis.json")
        self.assertNotEqual(answer["status"], "verified")
        self.assertEqual(answer["status"], answer["result"]["status"])

    def test_a_fault_is_in_the_summary(self):
        options = {"level": "bodies", "seal": "off"}
        summary = blockmill.verify_shard(self.folder / "hive/damaged.rlp", **options)
        with self.assertRaises(blockmill.VerifyError) as caught:
            blockmill.verify(self.folder / "hive/damaged.rlp", **options)
        self.assertEqual(summary["status"], caught.exception.status)
        self.assertEqual(summary["fault"]["block"], caught.exception.block)
        answer = blockmill.merge([summary], chain=self.folder / "hive/genesis.json")
        self.assertEqual(answer["error"], caught.exception.answer["error"])

    def test_what_cannot_be_merged_raises(self):
        other = blockmill.verify_shard(self.folder / "sepolia.era1", **self.options)
        for summaries in [[], ["no summary"], [self.summaries[0], other]]:
            with self.assertRaises(blockmill.UsageError):
                blockmill.merge(summaries)

    def test_block_files_take_two_steps(self):
        path = self.folder / "blockmill-bitcoin/blk00000.dat"
        headers = blockmill.verify_shard(path)
        tables = blockmill.merge([headers], partial=True)
        self.assertEqual((tables["status"], len(tables["result"])), ("unrecognised", 1))
        bodies = blockmill.verify_shard(path, after=tables["result"][0])
        merged = blockmill.merge([headers, bodies], partial=True)
        whole = blockmill.verify(path, level="bodies", partial=True)
        parts = ("status", "error", "shortfalls")
        self.assertEqual([merged[part] for part in parts], [whole[part] for part in parts])
        self.assertEqual(merged["result"]["blocks"], 400)

    def test_neo_has_no_shards(self):
        with self.assertRaises(blockmill.UsageError):
            blockmill.verify_shard(self.folder / "blockmill-neo/chain50x2.acc")


if __name__ == "__main__":
    unittest.main()
