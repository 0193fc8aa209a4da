"""Archives in shards on an engine get the verdict of a single run, whatever is wrong with them."""

import http.server
import itertools
import json
import random
import shutil
import threading
import unittest

import blockmill
import blockmill.spark
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from spark_support import ERAS, FIXTURES, MASTER, OnEngine, chain, cut, cut_anywhere, items, payload
from spark_support import relinked, single_run, table, with_header, with_ommers, write_shards
from test_remote import Handler

CHAIN = "execution-apis"
PARENT, STATE_ROOT, DIFFICULTY, NUMBER, GAS_LIMIT, TIMESTAMP = 0, 3, 7, 8, 9, 11
# what a header cannot say
FIELDS = [
    (PARENT, b"\xa0" + bytes(32)),
    (STATE_ROOT, b"\xa0" + bytes(32)),
    (DIFFICULTY, b"\x01"),
    (NUMBER, b"\x07"),
    (GAS_LIMIT, b"\x01"),
    (TIMESTAMP, b"\x01"),
]


def totals(era):
    """Offsets of the total difficulties in an era1 file: after the heads of records of type 6."""
    at, found = 0, []
    while at < len(era):
        if era[at] == 6:
            found.append(at + 8)
        at += 8 + int.from_bytes(era[at + 2 : at + 6], "little")
    return found


class Verdicts(OnEngine):
    def test_good_chains_are_verified_in_1_2_and_5_shards(self):
        for name, count in itertools.product(["execution-apis", "geth-ethtest"], [1, 2, 5]):
            blocks = chain(name)
            folder = write_shards(self.new(), name, *cut(blocks, count))
            answer = self.run_both([folder])
            self.assertEqual((answer["status"], answer["shards"]), ("verified", count))
            self.assertEqual(answer["summary"]["blocks"], len(blocks))

    def test_good_chains_are_verified_wherever_they_are_cut(self):
        dice, cuts = random.Random(17), 0
        for i in range(8):
            name = ["execution-apis", "geth-ethtest"][i % 2]
            blocks = chain(name)
            parts = cut_anywhere(dice, blocks)
            answer = self.run_both([write_shards(self.new(), name, *parts)])
            self.assertEqual((answer["status"], answer["shards"]), ("verified", len(parts)))
            cuts += len(parts) - 1
        self.assertGreater(cuts, 16)

    def test_corruption_near_random_cuts_is_named_as_by_a_single_run(self):
        dice, statuses = random.Random(18), set()
        blocks = chain(CHAIN)
        for i in range(8):
            parts = cut_anywhere(dice, blocks)
            # the last block before a cut, the first after it, or one near it
            at = len(parts[0]) + dice.choice([-1, 0, 0, 3])
            place, value = dice.choice(FIELDS)
            bad = [*blocks[:at], with_header(blocks[at], place, value), *blocks[at + 1 :]]
            if dice.random() < 0.5:
                bad = relinked(bad, at + 1)
            ends = list(itertools.accumulate(map(len, parts)))
            cuts = zip([0, *ends], ends)
            with self.subTest(i, at=at, place=place, ends=ends):
                folder = write_shards(self.new(), CHAIN, *(bad[start:end] for start, end in cuts))
                statuses.add(self.run_both([folder])["status"])
        self.assertEqual(statuses, {"invalid"})

    def test_archives_at_urls_are_verified_as_files_are(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        url = f"http://127.0.0.1:{server.server_port}"
        for paths in [[f"{url}/"], [f"{url}/{path.name}" for path in ERAS]]:
            answer = self.run_both(paths, level="headers")
            self.assertEqual((answer["status"], answer["shards"]), ("verified", 2))
            self.assertEqual(answer["summary"]["last"]["number"], 16_383)

    def test_era1_files_are_verified(self):
        answer = self.run_both(ERAS, level="headers")
        self.assertEqual(answer["summary"]["last"]["number"], 16_383)
        # as far as its first block is right
        answer = self.run_both(ERAS[1:], level="headers")
        self.assertEqual(answer["summary"]["anchor"]["number"], 8_192)
        answer = self.run_both([FIXTURES / "era1" / "sepolia-00000-643a00f7.era1"], level="headers")
        self.assertEqual(answer["status"], "verified")

    def test_corruption_where_shards_meet_is_named_as_by_a_single_run(self):
        blocks, at = chain(CHAIN), 27
        late = with_header(blocks[at], TIMESTAMP, b"\x01")
        other = with_header(blocks[at - 1], STATE_ROOT, b"\xa0" + bytes(32))
        unlinked = with_header(blocks[at], PARENT, b"\xa0" + bytes(32))
        cases = {
            "first header": [*blocks[:at], late, *blocks[at + 1 :]],
            "first header, linked": relinked([*blocks[:at], late, *blocks[at + 1 :]], at + 1),
            "last header": [*blocks[: at - 1], other, *blocks[at:]],
            "link": [*blocks[:at], unlinked, *blocks[at + 1 :]],
        }
        blamed = set()
        for what, bad in cases.items():
            for parts in (cut(bad, 2), cut(bad, 5), [bad]):
                with self.subTest(what, shards=len(parts)):
                    answer = self.run_both([write_shards(self.new(), CHAIN, *parts)])
                    self.assertEqual(answer["status"], "invalid")
                    blamed.add((what, answer["error"]["rule"]))
        # the rule does not depend on the cuts
        self.assertEqual(len(blamed), len(cases), blamed)

    def test_an_ommer_that_is_repeated_after_a_cut_is_found(self):
        blocks = chain(CHAIN)
        ommers = items(payload(blocks[5]))[2]
        bad = relinked([*blocks[:6], with_ommers(blocks[6], ommers), *blocks[7:]], 7)
        for parts in ([bad], [bad[:6], bad[6:]], [bad[:2], bad[2:6], bad[6:7], bad[7:]]):
            answer = self.run_both([write_shards(self.new(), CHAIN, *parts)])
            self.assertEqual(answer["error"]["block"], 7)
            self.assertIn("ommer", answer["error"]["rule"])

    def test_a_wrong_total_difficulty_is_found(self):
        for era, block in [(0, 8_191), (1, 8_192)]:
            folder = self.new()
            folder.mkdir()
            for path in ERAS:
                shutil.copyfile(path, folder / path.name)
            path = folder / ERAS[era].name
            data = bytearray(path.read_bytes())
            places = totals(data)
            data[places[block - 8_192 * era]] ^= 1
            path.write_bytes(data)
            answer = self.run_both([folder], level="headers")
            self.assertEqual(answer["error"]["block"], block)
            self.assertIn("total difficulty", answer["error"]["rule"])

    def test_missing_files(self):
        parts = cut(chain(CHAIN), 5)
        folder = write_shards(self.new(), CHAIN, *parts[:2], *parts[3:])
        self.assertEqual(self.run_both([folder])["status"], "incomplete")
        self.assertEqual(self.run_both([folder], partial=True)["status"], "partial")

    def test_shards_that_overlap_are_refused_as_their_blocks_are_not_compared(self):
        blocks = chain(CHAIN)
        parts = cut(blocks, 5)
        for parts in (parts[:3] + parts[2:], [*parts[:2], blocks[15:33], *parts[3:]]):
            paths = [str(write_shards(self.new(), CHAIN, *parts))]
            asked = {"level": "bodies", "partial": False, "seal": "off"}
            answer = blockmill.spark.verify(self.spark, paths, self.new(), **asked)
            self.assertEqual(answer["status"], "invalid")
            # a single run has the blocks, and skips equal ones
            self.assertEqual(single_run(paths, **asked)["status"], "verified")

    def test_a_late_transition_to_proof_of_stake_is_searched_in_its_shard(self):
        blocks = chain(CHAIN)
        folder = write_shards(self.new(), CHAIN, *cut(blocks, 2))
        genesis = json.loads((folder / "genesis.json").read_text())
        genesis["config"]["terminalTotalDifficulty"] //= 2
        (folder / "genesis.json").write_text(json.dumps(genesis))
        self.assertEqual(self.run_both([folder])["status"], "invalid")


class Rows(OnEngine):
    def verify(self, paths, to, **asked):
        return blockmill.spark.verify(self.spark, paths, to, seal="off", **asked)

    def counts(self, answer):
        return answer["shards"], answer["verified_now"], answer["finished_before"]

    def test_finished_shards_are_not_verified_again(self):
        blocks = chain(CHAIN)
        folder, to = write_shards(self.new(), CHAIN, *cut(blocks, 5)), self.new()
        first = self.verify(folder, to)
        self.assertEqual(self.counts(first), (5, 5, 0))
        rows = table(to)
        again = self.verify(folder, to)
        self.assertEqual(self.counts(again), (5, 0, 5))
        self.assertEqual((again["summary"], table(to)), (first["summary"], rows))
        # a row that is lost, and a file of the same name and size with other bytes
        next((to / "shards").iterdir()).unlink()
        self.assertEqual(self.counts(self.verify(folder, to)), (5, 1, 4))
        self.assertEqual(table(to), rows)
        path = folder / "part-4.rlp"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        changed = self.verify(folder, to)
        self.assertEqual((changed["status"] != "verified", self.counts(changed)), (True, (5, 1, 4)))
        # and another level
        self.assertEqual(self.counts(self.verify(folder, to, level="headers")), (5, 5, 0))

    def test_a_row_that_lost_its_bytes_is_made_again(self):
        folder, to = write_shards(self.new(), CHAIN, *cut(chain(CHAIN), 2)), self.new()
        self.verify(folder, to)
        rows = table(to)
        next((to / "shards").iterdir()).write_bytes(b"")
        self.assertEqual(self.counts(self.verify(folder, to)), (2, 1, 1))
        self.assertEqual(table(to), rows)

    def test_faults_are_rows(self):
        blocks = chain(CHAIN)
        parts = [bytearray(b"".join(part)) for part in cut(blocks, 3)]
        folder, to = write_shards(self.new(), CHAIN), self.new()
        parts[1][700] ^= 1
        for i, data in enumerate([*parts, b"no archive", b""]):
            (folder / f"part-{i}.rlp").write_bytes(data)
        answer = self.verify(folder, to)
        rows = table(to)
        self.assertEqual(len(rows), 5)
        self.assertIn(rows[1]["status"], ("invalid", "corrupt"))
        self.assertIsNotNone(rows[1]["message"])
        self.assertEqual([row["summary"] is None for row in rows], [False] * 3 + [True] * 2)
        # an archive that cannot be opened has no run: the error is that of opening
        alone = single_run([str(folder)], level="bodies", seal="off")
        self.assertEqual(answer["status"], alone["status"])
        self.assertEqual(answer["error"]["message"], alone["error"]["message"])

    def test_a_file_that_cannot_be_read_raises(self):
        folder, to = write_shards(self.new(), CHAIN, *cut(chain(CHAIN), 2)), self.new()
        self.verify(folder, to)
        (folder / "part-1.rlp").unlink()
        (folder / "part-1.rlp").symlink_to(self.folder / "nowhere")
        with self.assertRaises(Exception):
            self.verify([folder / "part-0.rlp", folder / "part-1.rlp"], to)

    @unittest.skipUnless(MASTER == "sail", "workers of other engines have a memory of their own")
    def test_files_and_results_may_be_anywhere_that_fsspec_knows(self):
        fs = fsspec.filesystem("memory")
        self.addCleanup(fs.rm, "/chain", recursive=True)
        for i, part in enumerate(cut(chain(CHAIN), 3)):
            fs.pipe_file(f"/chain/part-{i}.rlp", b"".join(part))
        fs.put_file(str(FIXTURES / "chains" / CHAIN / "genesis.json"), "/chain/genesis.json")
        for counts in [(3, 3, 0), (3, 0, 3)]:
            answer = self.verify("memory://chain", "memory://chain/results")
            self.assertEqual((answer["status"], self.counts(answer)), ("verified", counts))
        sources = [source["path"] for source in answer["summary"]["sources"]]
        self.assertEqual(sources, [f"memory:///chain/part-{i}.rlp" for i in range(3)])
        self.assertFalse(fs.exists("/chain/results/_aside"))
        # the same through URLs of files
        folder = write_shards(self.new(), CHAIN, *cut(chain(CHAIN), 3))
        answer = self.verify(f"file://{folder}", f"file://{self.new()}")
        self.assertEqual(answer["status"], "verified")


def rows_of(folder, name):
    """All rows of a table, in the order of the chain."""
    manifest = json.loads((folder / "manifest.json").read_text())
    files = [file["file"] for file in manifest["files"] if f"-{name}-" in file["file"]]
    parts = [pq.read_table(folder / file).replace_schema_metadata() for file in files]
    return pa.concat_tables(parts)


class Tables(OnEngine):
    def test_tables_and_manifest_are_those_of_a_single_run(self):
        to, alone, tables = self.new(), self.new(), ["blocks", "transactions"]
        asked = {"tables": tables, "level": "bodies", "seal": "off", "seal_seed": 1}
        paths = [str(era) for era in ERAS]
        for counts in [(2, 2, 0), (2, 0, 2)]:
            answer = blockmill.spark.export(self.spark, paths, to, **asked)
            names = ("shards", "verified_now", "finished_before")
            self.assertEqual(tuple(answer[name] for name in names), counts)
        blockmill.export(paths, alone, **asked)
        manifests = [json.loads((folder / "manifest.json").read_text()) for folder in (to, alone)]
        self.assertEqual(manifests[0], manifests[1])
        self.assertEqual(manifests[0]["verified"], "chain")
        for file in manifests[0]["files"]:
            one, other = [pq.read_table(folder / file["file"]) for folder in (to, alone)]
            self.assertEqual(one, other)
        self.assertEqual(len(list(to.glob("*.parquet"))), 4)

    def test_tables_do_not_depend_on_the_cuts(self):
        blocks, alone = chain(CHAIN), self.new()
        asked = {"tables": ["blocks", "transactions"], "level": "bodies", "seal": "off"}
        blockmill.export(str(write_shards(self.new(), CHAIN, blocks)), alone, **asked)
        for parts in (cut(blocks, 2), cut(blocks, 5), cut_anywhere(random.Random(19), blocks)):
            to, folder = self.new(), write_shards(self.new(), CHAIN, *parts)
            answer = blockmill.spark.export(self.spark, folder, to, **asked)
            self.assertEqual(answer["status"], "verified")
            for name in asked["tables"]:
                one, other = [rows_of(place, name) for place in (to, alone)]
                self.assertGreater(one.num_rows, len(blocks) - 1)
                for column in one.column_names:
                    found, expected = one[column].to_pylist(), other[column].to_pylist()
                    self.assertEqual(found, expected, column)
                if name == "blocks":
                    self.assertNotIn(None, one["total_difficulty"].to_pylist())
            # headers of all shards, then their blocks; nothing when asked again
            answer = blockmill.spark.export(self.spark, folder, to, **asked)
            counts = (answer["verified_now"], answer["finished_before"])
            self.assertEqual(counts, (0, 2 * len(parts)))

    def test_totals_are_computed_in_the_order_of_blocks_not_of_files(self):
        blocks, alone, to = chain(CHAIN), self.new(), self.new()
        asked = {"tables": ["blocks"], "level": "bodies", "seal": "off"}
        blockmill.export(str(write_shards(self.new(), CHAIN, blocks)), alone, **asked)
        folder = write_shards(self.new(), CHAIN, blocks[20:], blocks[:20])
        answer = blockmill.spark.export(self.spark, folder, to, **asked)
        self.assertEqual(answer["status"], "verified")
        one, other = [rows_of(place, "blocks") for place in (to, alone)]
        self.assertEqual(one.to_pylist(), other.to_pylist())

    def test_a_bad_header_leaves_no_tables_and_the_verdict_of_a_single_run(self):
        blocks = chain(CHAIN)
        bad = [*blocks[:30], with_header(blocks[30], TIMESTAMP, b"\x01"), *blocks[31:]]
        folder, to = write_shards(self.new(), CHAIN, *cut(bad, 3)), self.new()
        answer = blockmill.spark.export(self.spark, folder, to, ["blocks"], seal="off")
        self.compare(answer, single_run([str(folder)], level="bodies", seal="off"))
        self.assertFalse((to / "manifest.json").exists())

    def test_tables_end_where_blocks_are_missing(self):
        parts, to, alone = cut(chain(CHAIN), 5), self.new(), self.new()
        asked = {"tables": ["transactions"], "seal": "off", "seal_seed": 1, "partial": True}
        folder = write_shards(self.new(), CHAIN, *parts)
        (folder / "part-2.rlp").rename(self.folder / "kept")
        answer = blockmill.spark.export(self.spark, folder, to, **asked)
        blockmill.export(str(folder), alone, level="bodies", **asked)
        listed = [json.loads((it / "manifest.json").read_text()) for it in (to, alone)]
        self.assertEqual((answer["status"], listed[0]), ("partial", listed[1]))
        names = [sorted(file.name for file in it.glob("*.parquet")) for it in (to, alone)]
        self.assertEqual(names[0], names[1])
        # what was removed, and what somebody takes away, is made again
        (self.folder / "kept").rename(folder / "part-2.rlp")
        next(to.glob("*.parquet")).unlink()
        answer = blockmill.spark.export(self.spark, folder, to, **asked)
        self.assertEqual((answer["status"], answer["finished_before"]), ("verified", 1))
        counts = answer["summary"]["counts"]
        self.assertEqual(rows_of(to, "transactions").num_rows, counts["transactions"])

    def test_tables_of_what_is_no_chain_have_no_manifest(self):
        parts, to = cut(chain(CHAIN), 5), self.new()
        asked = {"tables": ["blocks"], "seal": "off"}
        folder = write_shards(self.new(), CHAIN, *parts)
        blockmill.spark.export(self.spark, folder, to, **asked)
        self.assertTrue((to / "manifest.json").exists())
        (folder / "part-2.rlp").unlink()
        answer = blockmill.spark.export(self.spark, folder, to, **asked)
        self.assertEqual(answer["status"], "incomplete")
        self.assertFalse((to / "manifest.json").exists())


if __name__ == "__main__":
    unittest.main()
