"""A datadir of Bitcoin Core at level execution on an engine: block files with undo data, and the
unspent coins, are shards, and a coin multiset hash proves them. Otherwise there is no verdict."""

import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import blockmill
import blockmill.spark
from spark_blocks import PROGRAM, changed, core_datadir, files_of, generate, rows_in
from spark_support import OnEngine, single_run, table

ASKED = {"level": "execution", "seal": "off"}


def datadir(folder, *words):
    """A generated chain as a datadir of Bitcoin Core."""
    blocks, store, core = (folder / name for name in ("made", "store", "core"))
    generate(blocks, *words)
    run = [["import", "--data", store, blocks], ["convert", "--to", "core", "--out", core, store]]
    for command in run:
        subprocess.run([PROGRAM, *command], check=True, capture_output=True)
    return core / "regtest"


class OnDatadir(OnEngine):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        place = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.datadir = datadir(place, "--order=download")
        cls.shards = len(files_of(cls.datadir / "blocks")) + 1

    def copy(self):
        """A copy of the datadir, which may be forged."""
        return shutil.copytree(self.datadir, self.new())

    def verify(self, datadir, to=None, **more):
        return blockmill.spark.verify(self.spark, datadir, to or self.new(), **ASKED, **more)

    def expect_same(self, datadir):
        """The verdict of the engine, which is that of a single run with the coin multiset hash."""
        answer = self.verify(datadir)
        alone = single_run([str(datadir)], level="execution", with_="coins=multiset")
        self.compare(answer, alone)
        return answer

    def expect_unknown(self, datadir, text):
        answer = self.verify(datadir)
        self.assertEqual(answer["status"], "unrecognised", answer)
        self.assertIn("the coin multiset hash proves nothing: ", answer["error"]["message"])
        self.assertIn(text, answer["error"]["message"])


class Verdicts(OnDatadir):
    def test_good_datadirs_are_verified(self):
        answer = self.expect_same(self.datadir)
        self.assertGreater(self.shards, 3)
        self.assertEqual((answer["status"], answer["shards"]), ("verified", self.shards))
        self.assertEqual(answer["verified_now"], 2 * self.shards)
        coins = answer["summary"]["coins"]
        self.assertEqual(coins["created"], coins["spent"] + coins["unspent"])
        real = core_datadir(self.new())
        answer = self.expect_same(real)
        self.assertEqual((answer["status"], answer["summary"]["last"]), ("verified", 4_521))

    def test_scripts_may_be_assumed_valid(self):
        tip = self.verify(self.datadir)["summary"]["tip"]
        self.assertEqual(self.verify(self.datadir, assume_valid=tip)["status"], "verified")
        with self.assertRaisesRegex(ValueError, "assume-valid"):
            self.verify(self.datadir, assume_valid="11" * 32)

    def test_bad_blocks_are_at_fault(self):
        forged = self.copy()
        blocks = files_of(forged / "blocks")[1]
        changed(blocks, blocks.stat().st_size // 2)
        self.assertNotIn(self.expect_same(forged)["status"], ("verified", "unrecognised"))

    def test_forged_undo_data_proves_nothing(self):
        forged = self.copy()
        undo = forged / "blocks" / "rev00001.dat"
        changed(undo, undo.stat().st_size - 1)
        self.expect_unknown(forged, "rev00001.dat")

    def test_coins_of_another_chain_prove_nothing(self):
        forged = self.copy()
        shutil.rmtree(forged / "chainstate")
        other = datadir(self.new(), "--seed=7")
        shutil.copytree(other / "chainstate", forged / "chainstate")
        self.expect_unknown(forged, "unspent coins")

    def test_what_is_no_datadir_is_refused(self):
        for paths in (self.datadir / "blocks", files_of(self.datadir / "blocks")):
            with self.assertRaisesRegex(ValueError, "expected a datadir of Bitcoin Core"):
                self.verify(paths)
        forged = self.copy()
        for path in (forged / "chainstate").iterdir():
            path.unlink()
        with self.assertRaisesRegex(Exception, "expected the chainstate of a datadir"):
            self.verify(forged)


class Rows(OnDatadir):
    def test_finished_tasks_are_not_done_again_and_keep_their_salt(self):
        to = self.new()
        first = self.verify(self.datadir, to)
        rows = table(to)
        steps = sorted(row["document"] for row in rows)
        files = self.shards - 1
        self.assertEqual(steps, files * ["bodies"] + 2 * ["coins"] + files * ["headers"])
        again = self.verify(self.datadir, to)
        self.assertEqual((again["verified_now"], again["finished_before"]), (0, 2 * self.shards))
        self.assertEqual((again["summary"], table(to)), (first["summary"], rows))
        # all have the same salt; another merge draws another
        hashes = [json.loads(row["summary"])["multiset"] for row in rows if row["after"]]
        salts = {own["salt"]["secret"] for own in hashes}
        self.assertEqual(len(salts), 1)
        other = self.new()
        self.verify(self.datadir, other)
        [kept] = (other / "salts").iterdir()
        self.assertNotIn(json.loads(kept.read_text())["salt"]["secret"], salts)

    def test_a_driver_that_ends_in_the_second_step_resumes(self):
        to = self.new()
        with self.ends_in_the_second_step():
            self.verify(self.datadir, to)
        answer = self.verify(self.datadir, to)
        counts = answer["status"], answer["verified_now"], answer["finished_before"]
        self.assertEqual(counts, ("verified", self.shards - 2, self.shards + 2))

    def test_files_that_change_between_the_steps_are_corrupt_and_are_read_again(self):
        forged, to = self.copy(), self.new()
        undo, of = forged / "blocks" / "rev00001.dat", blockmill.spark.rows.Rows.of
        good = undo.read_bytes()

        def changing(rows, shards):
            if shards[0].after:
                changed(undo, 100)
            return of(rows, shards)

        with mock.patch.object(blockmill.spark.rows.Rows, "of", changing):
            answer = self.verify(forged, to)
        self.assertEqual(answer["status"], "corrupt", answer)
        self.assertIn("was changed while", answer["error"]["message"])
        self.assertEqual(self.verify(forged, to)["status"], "unrecognised")
        undo.write_bytes(good)
        self.assertEqual(self.verify(forged, to)["status"], "verified")


class Tables(OnDatadir):
    def test_tables_have_what_is_spent_as_those_of_a_single_run(self):
        to, alone = self.new(), self.new()
        tables = ["blocks", "transactions", "inputs", "outputs"]
        answer = blockmill.spark.export(self.spark, self.datadir, to, tables, **ASKED)
        self.assertEqual(answer["status"], "verified")
        blockmill.export(self.datadir / "blocks", alone, tables=tables, level="execution")
        for name in tables:
            self.assertEqual(rows_in(to, name), rows_in(alone, name), name)
        self.assertTrue(any(row["fee"] for row in rows_in(to, "transactions")))


if __name__ == "__main__":
    unittest.main()
