"""Verdicts: those of the program, as dictionaries and exceptions."""

import os
import pickle
import re
import signal
import subprocess
import sys
import time
import typing
import unittest

import blockmill
from support import FIXTURES, Folder, lasting, program

# every seal on one thread takes long
LONG = """
import blockmill, sys
print("begun", flush=True)
try:
    blockmill.verify(sys.argv[1:], level="headers", seal="all", threads=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Verify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)

    def test_the_answer_is_that_of_the_program(self):
        # options of Ethereum
        other = {"seal": None, "seal_seed": None}
        for names, words, options in [
            (["sepolia.era1"], "--level headers --seal off", {"level": "headers"}),
            (["hive/chain.rlp"], "--level bodies --seal off", {"level": "bodies"}),
            (["hive/chain.rlp"], "--seal off", {}),
            (["blockmill-neo/chain50x2.acc"], "--threads 1", {"threads": 1, **other}),
            (["blockmill-bitcoin/blk00000.dat"], "--partial", {"partial": True, **other}),
        ]:
            with self.subTest(names=names, options=options):
                paths = [self.folder / name for name in names]
                expected = program("verify", *words.split(), *paths)
                answer = blockmill.verify(paths, **{"seal": "off", "seal_seed": 1, **options})
                self.assertEqual(lasting(answer), lasting(expected))
                for part in ["data", "chain"]:
                    self.assertEqual(answer["result"].get(part), expected["result"].get(part))
                self.assertIn(answer["status"], ["verified", "partial"])

    def test_a_fault_is_an_exception_with_the_fields_of_the_report(self):
        path = self.folder / "hive/damaged.rlp"
        expected = program("verify", "--level", "bodies", "--seal", "off", path)
        with self.assertRaises(blockmill.VerifyError) as caught:
            blockmill.verify(path, level="bodies", seal="off")
        error, report = caught.exception, expected["error"]
        self.assertEqual(error.status, expected["status"])
        self.assertEqual(str(error), report["message"])
        for field in ["message", "block", "hash", "file", "offset", "rule", "expected", "found"]:
            self.assertEqual(getattr(error, field), report.get(field), field)
        self.assertEqual(lasting(error.answer), lasting(expected))
        self.assertIsNotNone(error.block)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), again.answer), (type(error), error.answer))

    def test_each_status_has_its_exception(self):
        cut = self.folder / "hive/cut.rlp"
        cut.write_bytes((self.folder / "hive/chain.rlp").read_bytes()[:500_000])
        options = {"level": "headers", "seal": "off"}
        expected = program("verify", "--level=headers", "--seal=off", cut)
        self.assertEqual(expected["status"], "incomplete")
        with self.assertRaises(blockmill.Incomplete) as caught:
            blockmill.verify(cut, **options)
        self.assertEqual(caught.exception.shortfalls, expected["shortfalls"])
        noise = self.folder / "noise"
        noise.write_bytes(b"\x07" * 1000)
        with self.assertRaises(blockmill.Error) as caught:
            blockmill.verify(noise)
        self.assertEqual(caught.exception.answer["status"], program("verify", noise)["status"])
        with self.assertRaises(blockmill.UsageError) as caught:
            blockmill.verify(self.folder / "hive/chain.rlp", level="depths")
        self.assertIsInstance(caught.exception, ValueError)

    def test_what_is_not_there_raises_what_the_system_says(self):
        for call in [blockmill.verify, blockmill.verify_shard, blockmill.inspect]:
            with self.assertRaises(FileNotFoundError):
                call(self.folder / "nothing.era1")
            with self.assertRaises(ValueError):
                call([])

    def test_unknown_options_are_a_type_error(self):
        for options in [{"sael": "off"}, {"serve": True}, {"config": "x"}, {"log": "x"}]:
            with self.assertRaises(TypeError):
                blockmill.verify(self.folder / "hive/chain.rlp", **options)

    def test_every_option_is_known_and_none_is_its_default(self):
        known = [*blockmill.Options.__annotations__, "level", "chain", "partial", "threads"]
        self.assertGreater(len(known), 15)
        options = {**dict.fromkeys(known), "level": "headers", "seal": "off", "until": 10}
        answer = blockmill.verify(self.folder / "sepolia.era1", **options)
        self.assertEqual(answer["result"]["data"]["blocks"], 11)

    def test_values_out_of_range_and_of_other_types_are_refused(self):
        path = self.folder / "sepolia.era1"
        for option, value, message in [
            ("threads", 0, "--threads: expected 1 to 1024, found 0"),
            ("threads", -1, "--threads: expected 0 to 2^64 - 1, found -1"),
            ("from_", 1 << 64, f"--from: expected 0 to 2^64 - 1, found {1 << 64}"),
            ("level", "depths", "--level: expected headers, bodies, execution, found depths"),
            ("seal", "1/0", "--seal"),
            ("with_", {"hash": "double"}, "hash"),
        ]:
            with self.assertRaises(blockmill.UsageError) as caught:
                blockmill.verify(path, **{option: value})
            self.assertIn(message, str(caught.exception))
            self.assertEqual(caught.exception.answer["command"], "verify")
        for option, value in [("threads", "2"), ("level", 1), ("seal", 1), ("with_", 1), ("force", "yes")]:
            with self.assertRaisesRegex(TypeError, f"^{option}: "):
                blockmill.verify(path, **{option: value})

    def test_settings_are_texts_or_a_mapping(self):
        path, options = self.folder / "sepolia.era1", {"level": "headers", "seal": "off"}
        for settings in ["hash=single", ["hash=single", "commit=serial"], {"hash": "single"}]:
            answer = blockmill.verify(path, with_=settings, until=100, **options)
            self.assertEqual(answer["result"]["options"]["hash"], "single", settings)

    def test_a_path_may_look_like_a_flag(self):
        os.symlink(self.folder / "sepolia.era1", self.folder / "--json")
        here = os.getcwd()
        os.chdir(self.folder.path)
        self.addCleanup(os.chdir, here)
        answer = blockmill.verify("--json", level="headers", seal="off", until=10)
        self.assertEqual(answer["status"], "verified")

    def test_ctrl_c_is_a_keyboard_interrupt(self):
        paths = [self.folder / "mainnet-0.era1", self.folder / "mainnet-1.era1"]
        words = [sys.executable, "-c", LONG, *map(str, paths)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
            self.assertEqual(running.stdout.readline(), "begun\n")
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.stdout.readline(), "interrupted\n")
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(running.returncode, 0)
        # all of it takes minutes, a part to its next look at the request a second or two
        self.assertLess(usage.ru_utime, 20)

    def test_other_threads_of_python_go_on_meanwhile(self):
        import threading

        paths = [self.folder / "mainnet-0.era1"]
        work = threading.Thread(
            target=blockmill.verify, args=(paths,), kwargs={"level": "headers", "seal": "1/100"}
        )
        work.start()
        turns = 0
        while work.is_alive():
            turns += 1
            time.sleep(0.001)
        self.assertGreater(turns, 3)

    def test_inspect_says_what_the_program_says(self):
        for name in ["sepolia.era1", "blockmill-bitcoin/blk00000.dat", "blockmill-neo/chain50x2.acc", "hive/damaged.rlp"]:
            expected = program("inspect", self.folder / name)
            self.assertEqual(blockmill.inspect(self.folder / name), expected, name)
        deep = blockmill.inspect(self.folder / "hive/damaged.rlp", deep=True)
        self.assertEqual(deep, program("inspect", "--deep", self.folder / "hive/damaged.rlp"))

    def test_the_fixtures_are_there(self):
        self.assertTrue((FIXTURES / "README.md").exists())


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def test_formats_and_levels_are_those_of_the_program(self):
        for words, values in [
            (["convert", "x", "--out", "y", "--to"], blockmill.Format),
            (["verify", "x", "--level"], blockmill.Level),
            (["export", "x", "--to", "y", "--names"], blockmill.Names),
        ]:
            message = program(*words, "?")["error"]["message"]
            [named] = re.findall(r"\[possible values: (.*)\]", message)
            self.assertEqual(list(typing.get_args(values)), named.split(", "))

    def test_what_cannot_be_raises(self):
        archive, out = self.folder / "mainnet-0.era1", self.folder / "out"
        with self.assertRaises(blockmill.UsageError):
            blockmill.convert(archive, "nope", out)
        with self.assertRaises(blockmill.UsageError):
            blockmill.import_(archive, out, nope=1)
        with self.assertRaises(blockmill.Invalid):
            damaged = self.folder / "hive" / "damaged.rlp"
            blockmill.import_(damaged, self.folder / "store", level="bodies", seal="off")
        with self.assertRaises(FileNotFoundError):
            blockmill.report(self.folder / "nothing")
        with self.assertRaises(FileNotFoundError):
            blockmill.prove(self.folder / "nothing", "0x" + "00" * 20)


if __name__ == "__main__":
    unittest.main()
