"""Parts of a chain verified apart, and joined: the verdict of a run over all of them."""

import json
import unittest

import blockmill
from support import Folder, program

# an assumed present, a drawn seed and the time of a run are each run's own
OF_ONE_RUN = ["asked"]


def lasting(boundary):
    return {name: value for name, value in boundary.items() if name not in OF_ONE_RUN}


class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.options = {"level": "headers", "seal": "off", "seal_seed": 1}
        cls.paths = [cls.folder / "mainnet-0.era1", cls.folder / "mainnet-1.era1"]
        cls.boundaries = [blockmill.verify_unit(path, **cls.options) for path in cls.paths]

    def test_a_boundary_is_that_of_the_program(self):
        words = "verify --unit --level headers --seal off --seal-seed 1"
        for path, boundary in zip(self.paths, self.boundaries):
            expected = program(*words.split(), path)["result"]
            self.assertEqual(lasting(boundary), lasting(expected))

    def test_a_join_is_that_of_the_program(self):
        files = []
        for at, boundary in enumerate(self.boundaries):
            files.append(self.folder / f"{at}.json")
            files[-1].write_text(json.dumps(boundary))
        expected = program("verify", "--join", *files)
        self.assertEqual(blockmill.join(self.boundaries), expected)
        texts = [json.dumps(boundary) for boundary in reversed(self.boundaries)]
        self.assertEqual(blockmill.join(texts), expected)
        self.assertEqual(expected["result"]["blocks"], 16384)
        self.assertEqual(expected["status"], "verified")

    def test_a_unit_behind_another_needs_no_anchor(self):
        first, second = self.boundaries
        behind = blockmill.verify_unit(self.paths[1], after=first, **self.options)
        self.assertIsNotNone(second["anchor"])
        self.assertNotIn("anchor", behind)
        self.assertEqual(behind["last"]["hash"], second["last"]["hash"])

    def test_a_missing_part_is_told_and_raises_nothing(self):
        options = {"level": "bodies", "seal": "off"}
        ranges = [(0, 999), (2000, 3000)]
        parts = [
            blockmill.verify_unit(self.folder / "hive/chain.rlp", from_=first, until=last, **options)
            for first, last in ranges
        ]
        answer = blockmill.join(parts, chain=self.folder / "hive/genesis.json")
        self.assertNotEqual(answer["status"], "verified")
        self.assertEqual(answer["status"], answer["result"]["status"])

    def test_a_fault_stands_in_the_boundary(self):
        options = {"level": "bodies", "seal": "off"}
        boundary = blockmill.verify_unit(self.folder / "hive/damaged.rlp", **options)
        with self.assertRaises(blockmill.VerifyError) as caught:
            blockmill.verify(self.folder / "hive/damaged.rlp", **options)
        self.assertEqual(boundary["status"], caught.exception.status)
        self.assertEqual(boundary["fault"]["block"], caught.exception.block)
        answer = blockmill.join([boundary], chain=self.folder / "hive/genesis.json")
        self.assertEqual(answer["error"], caught.exception.answer["error"])

    def test_what_cannot_be_joined_raises(self):
        other = blockmill.verify_unit(self.folder / "sepolia.era1", **self.options)
        for boundaries in [[], ["no boundary"], [self.boundaries[0], other]]:
            with self.assertRaises(blockmill.UsageError):
                blockmill.join(boundaries)

    def test_block_files_take_two_steps(self):
        path = self.folder / "blockmill-bitcoin/blk00000.dat"
        headers = blockmill.verify_unit(path)
        tables = blockmill.join([headers], partial=True)
        self.assertEqual((tables["status"], len(tables["result"])), ("unrecognised", 1))
        bodies = blockmill.verify_unit(path, after=tables["result"][0])
        joined = blockmill.join([headers, bodies], partial=True)
        whole = blockmill.verify(path, level="bodies", partial=True)
        parts = ("status", "error", "shortfalls")
        self.assertEqual([joined[part] for part in parts], [whole[part] for part in parts])
        self.assertEqual(joined["result"]["blocks"], 400)

    def test_neo_has_no_units(self):
        with self.assertRaises(blockmill.UsageError):
            blockmill.verify_unit(self.folder / "blockmill-neo/chain50x2.acc")


if __name__ == "__main__":
    unittest.main()
