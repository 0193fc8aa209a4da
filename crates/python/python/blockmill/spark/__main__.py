"""`python -m blockmill.spark verify|export PATH... --to DIR --master URL`."""

import argparse
import os
import sys

import blockmill.spark

EXIT_CODES = {"verified": 0, "partial": 0, "invalid": 1, "usage": 2, "incomplete": 3, "corrupt": 4}
OTHER = {"environment": 5, "unrecognised": 6, "interrupted": 130}


def arguments(words=None):
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="python -m blockmill.spark", description=__doc__)
    parser.add_argument("command", choices=["verify", "export"])
    parser.add_argument("paths", nargs="+", help="archives or folders of them; also fsspec URLs")
    parser.add_argument("--to", required=True, help="folder of the results")
    parser.add_argument("--master", default="local[*]", help="spark://HOST:PORT, sc://HOST:PORT, "
                        "local[N], or sail, which starts one in this process")
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--level", default="bodies", choices=["headers", "bodies", "execution"],
                        help="execution: for a datadir of Bitcoin Core, by coin multiset hash")
    parser.add_argument("--chain")
    parser.add_argument("--seal", help="off, all, 1/N")
    parser.add_argument("--seal-seed", type=int)
    parser.add_argument("--now", type=int, help="seconds since 1970 [default: the clock]")
    parser.add_argument("--trust", action="append", metavar="HASH")
    parser.add_argument("--assume-valid", metavar="HASH")
    parser.add_argument("--partial", action="store_true")
    parser.add_argument("--tables", default="blocks,transactions", help="export: tables to write")
    parser.add_argument("--hex", action="store_true", help="export: bytes as text")
    parser.add_argument("--names", default="etl", choices=["etl", "cryo"],
                        help="export: naming scheme of columns")
    parser.add_argument("--partition", metavar="blocks=N|date",
                        help="export: folders of blocks, as Hive names them")
    return parser.parse_args(words)


def session(master, conf):
    """Opens a session with the engine at `master`. Returns it with a function that closes it."""
    # workers need an interpreter with this package
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder, server = SparkSession.builder.appName("blockmill"), None
    for pair in conf:
        name, _, value = pair.partition("=")
        builder = builder.config(name, value)
    if master == "sail":
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        master = "sc://{}:{}".format(*server.listening_address)
    is_remote = master.startswith("sc://")
    spark = (builder.remote(master) if is_remote else builder.master(master)).getOrCreate()

    def end():
        spark.stop()
        if server is not None:
            server.stop()

    return spark, end


def print_answer(answer):
    """Prints the verdict."""
    summary, blocks = answer["summary"] or {}, ""
    if summary.get("last"):
        ends = [summary[end] for end in ("first", "last")]
        # for block files these are heights
        first, last = [end if isinstance(end, int) else end["number"] for end in ends]
        blocks = f", blocks {first:,} to {last:,}"
    before, now = answer["finished_before"], answer["verified_now"]
    finished = f"{before} of {before + now} tasks were finished before"
    print(f"{answer['status']}: {answer['shards']} shards{blocks}; {finished}")
    if answer["error"]:
        print(answer["error"]["message"], file=sys.stderr)
        if hint := answer["error"].get("hint"):
            print(f"hint: {hint}", file=sys.stderr)


def main():
    asked = vars(arguments())
    command, paths, to = (asked.pop(name) for name in ("command", "paths", "to"))
    spark, end = session(asked.pop("master"), asked.pop("conf"))
    tables = {name: asked.pop(name) for name in ("tables", "hex", "names", "partition")}
    try:
        if command == "export":
            tables["tables"] = tables["tables"].split(",")
            answer = blockmill.spark.export(spark, paths, to, **tables, **asked)
        else:
            answer = blockmill.spark.verify(spark, paths, to, **asked)
    finally:
        end()
    print_answer(answer)
    return (EXIT_CODES | OTHER)[answer["status"]]


if __name__ == "__main__":
    sys.exit(main())
