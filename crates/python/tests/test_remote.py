"""Archives at URLs, from a server in this process."""

import http.server
import re
import threading
import unittest
from pathlib import Path

import blockmill
from blockmill import _native
from support import ETHEREUM, lasting

ERA = "mainnet-00000-5ec1ffb8.era1"
SECOND = "mainnet-00001-a5364e9a.era1"


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves real era1 files with ranges, and a list of their names."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path.strip("/")
        path = ETHEREUM / "era1" / name
        if name == "checksums.txt":
            data = "".join(f"{'ab' * 32}  {it}\n" for it in (ERA, SECOND)).encode()
        elif re.fullmatch(r"[a-z0-9-]+\.era1", name) and path.is_file():
            data = path.read_bytes()
        else:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        length, part = len(data), data
        if span:
            first, last = map(int, span.groups())
            part = data[first : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{length}")
        else:
            self.send_response(200)
        self.send_header("ETag", f'"{length}"')
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(part)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.url = f"http://127.0.0.1:{cls.server.server_port}"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def test_an_archive_at_a_url_has_the_verdict_of_its_file(self):
        options = {"level": "headers", "seal": "off", "until": 3000}
        here = blockmill.verify(ETHEREUM / "era1" / ERA, **options)
        there = blockmill.verify(f"{self.url}/{ERA}", **options)
        self.assertEqual(lasting(there), lasting(here))
        self.assertEqual(there["result"]["data"]["paths"], [f"{self.url}/{ERA}"])
        files = blockmill.inspect(f"{self.url}/")["result"]["files"]
        self.assertEqual(sum(file["blocks"] for file in files), 16_384)

    def test_shards_and_rows_are_read_from_a_url(self):
        urls = [f"{self.url}/{name}" for name in (ERA, SECOND)]
        shards = [blockmill.verify_shard(url, seal="off") for url in urls]
        self.assertEqual(blockmill.merge(shards)["result"]["last"]["number"], 16_383)
        rows = blockmill.read(f"{self.url}/{ERA}", "blocks", seal="off", until=99)
        self.assertEqual(sum(map(len, rows)), 100)

    def test_what_is_not_there_is_no_file(self):
        with self.assertRaisesRegex(blockmill.UsageError, "none.era1: no such file on the server"):
            blockmill.verify(f"{self.url}/none.era1")
        with self.assertRaises(FileNotFoundError):
            _native.RemoteFile(f"{self.url}/genesis.json")

    def test_the_files_of_a_folder_are_listed_with_their_sizes(self):
        sizes = {url: size for url, size in _native.remote_files(f"{self.url}/")}
        for name in (ERA, SECOND):
            path = Path(ETHEREUM, "era1", name)
            self.assertEqual(sizes[f"{self.url}/{name}"], path.stat().st_size)
        file, data = _native.RemoteFile(f"{self.url}/{ERA}"), b""
        while part := file.read(1 << 20):
            data += part
        self.assertEqual(data, Path(ETHEREUM, "era1", ERA).read_bytes())


if __name__ == "__main__":
    unittest.main()
