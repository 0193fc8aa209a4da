"""Runs notebooks: every code cell, in order.

`python run.py NOTEBOOK...` fails where a cell fails, or where it says something else than what the
notebook has kept; `--save` keeps what it says now, pictures too. Nothing of Jupyter is needed.
"""

import ast
import base64
import io
import json
import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def run(cell, names):
    """What a cell shows: its last value as text, and its pictures."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    shown = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs = []
    if shown is not None and not pyplot.get_fignums():
        outputs.append(output("execute_result", {"text/plain": lines(repr(shown))}))
    for number in pyplot.get_fignums():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture, format="png", dpi=100, metadata={"Software": None})
        data = base64.b64encode(picture.getvalue()).decode()
        outputs.append(output("display_data", {"image/png": data, "text/plain": ["a picture"]}))
    pyplot.close("all")
    return outputs


def output(kind, data):
    made = {"output_type": kind, "data": data, "metadata": {}}
    return {**made, "execution_count": None} if kind == "execute_result" else made


def lines(text):
    return text.splitlines(keepends=True)


def texts(outputs):
    return [output["data"]["text/plain"] for output in outputs]


def main(words):
    save = "--save" in words
    for path in [Path(word).resolve() for word in words if word != "--save"]:
        notebook = json.loads(path.read_text())
        os.chdir(path.parent)
        names = {"__name__": "__main__"}
        pictures = 0
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            outputs = run(cell, names)
            pictures += sum("image/png" in output["data"] for output in outputs)
            if save:
                cell["outputs"] = outputs
            elif texts(cell["outputs"]) != texts(outputs):
                kept, now = texts(cell["outputs"]), texts(outputs)
                sys.exit(f"{path.name}: kept {kept}, now {now}\n{''.join(cell['source'])}")
        if save:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        if pictures == 0:
            sys.exit(f"{path.name}: draws nothing")
        print(f"{path.name}: as kept, {pictures} pictures")


if __name__ == "__main__":
    main(sys.argv[1:])
