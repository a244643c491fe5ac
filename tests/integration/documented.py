"""Runs the examples of a document against a server, and compares what comes back with what the document shows.

An example is a fenced block of `sh` with one curl command, or of `python`, followed by a block with its output: `json`
for an answer's body, `http` for its status and some headers, `text` for what a program prints. In what is shown, a
text that ends with `...` stands for any that begins so, a list of nothing but `"..."` for any list, and a time that is
later than the day of the sample data for any other such time. In a command, `$TOKEN` is the `nextToken` of the answer
before and `$BACK` its `prevToken`; other variables are those that a block of `sh` sets (`NAME=value`), to a development
token also.

`WRITE_DOCS=1` writes the outputs that differ into the document instead; of these, what is alike stays as it is shown.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.integration.local_server import ROOT, START_SECONDS, Answer, LocalServer

DAY = dt.date(2025, 1, 1)
ADDRESS = "http://127.0.0.1:8123"
SHOWN_HEADERS = ("content-type", "location", "allow")

_EXAMPLE = re.compile(
    r"```(?P<language>sh|python)\n(?P<command>(?:curl |import )(?:.|\n)*?)\n```\n\n"
    r"```(?P<kind>json|http|text)\n(?P<output>(?:.|\n)*?)\n```"
)
_NOW = dt.datetime.combine(DAY, dt.time(), dt.UTC).timestamp() * 1000


@dataclass(frozen=True)
class Example:
    """A command, as it stands there and with its variables filled in, and what the document says that comes of it.
    `begins` is where the output stands in the text."""

    language: str
    command: str
    kind: str
    output: str
    begins: int
    sent: str = ""


def examples(text: str) -> Iterator[Example]:
    """The examples of a document, in order."""
    for found in _EXAMPLE.finditer(text):
        yield Example(found["language"], found["command"], found["kind"], found["output"], found.start("output"))


def variables(text: str, data: Path) -> dict[str, str]:
    """What the document's blocks of `sh` set; tokens are made for the server of a data folder."""
    found = {}
    for block in re.findall(r"```sh\n((?:[A-Z]+=.+\n)+)```", text):
        for name, _, value in (line.partition("=") for line in block.splitlines()):
            found[name] = made_token(value, data) if value.startswith("$(") else value
    return found


def made_token(command: str, data: Path) -> str:
    """What `$(./run shardweave token ... --data FOLDER)` gives."""
    _, program, *words = shlex.split(command.removeprefix("$(").removesuffix(")"))
    assert (program, words[0], words[-2]) == ("shardweave", "token", "--data"), f"{command} makes no token"
    made = [sys.executable, "-P", "-m", "shardweave.cli", *words[:-1], str(data)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared")}
    return subprocess.run(made, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def check_document(path: Path, server: LocalServer, given: Mapping[str, str] | None = None) -> int:
    """Run the examples of a document, compare them or write them, and give how many there are."""
    text = path.read_text(encoding="utf-8")
    found = [replace(each, sent=filled(each.command, given or {})) for each in examples(text)]
    write = bool(os.environ.get("WRITE_DOCS"))
    tokens, written, end = dict[str, str](), "", 0
    for example in found:
        output = run(example, server, tokens)
        if same(example, output):
            continue
        line = text.count("\n", 0, example.begins) + 1
        assert write, f"{path}:{line} shows\n{example.output}\nbut it is\n{output}"
        if example.kind == "json":
            output = show_json(kept(json.loads(example.output), json.loads(output)))
        written += text[end : example.begins] + output
        end = example.begins + len(example.output)
    if write:
        path.write_text(written + text[end:], encoding="utf-8")
    return len(found)


def filled(command: str, given: Mapping[str, str]) -> str:
    """A command with those of its variables filled in that are given."""
    return re.sub(r"\$([A-Z]+)", lambda each: given.get(each[1], each[0]), command)


def run(example: Example, server: LocalServer, tokens: dict[str, str]) -> str:
    """The output of an example as a document shows it. `tokens` are those of the answer before, then of this one."""
    if example.language == "python":
        return run_python(example.sent, server)
    answer = send(filled(example.sent, tokens), server)
    if example.kind == "http":
        return show_head(answer)
    document = answer.json
    for variable, name in (("TOKEN", "nextToken"), ("BACK", "prevToken")):
        if isinstance(document, dict) and document.get(name):
            tokens[variable] = document[name]
            document[name] = tokens[variable][:9] + "..."
    return show_json(document)


def send(command: str, server: LocalServer) -> Answer:
    """What curl would send."""
    _, *words = shlex.split(command.replace("\\\n", " "))
    method, body, headers, target = "GET", None, {}, ""
    while words:
        word = words.pop(0)
        if word == "-X":
            method = words.pop(0)
        elif word in ("-d", "--json"):
            body, headers["content-type"] = words.pop(0).encode(), "application/json"
            method = "POST" if method == "GET" else method
        elif word == "-H":
            name, _, value = words.pop(0).partition(": ")
            headers[name.lower()] = value
        elif word not in ("-s", "-i", "-si"):
            assert word.startswith(ADDRESS), f"the example {command!r} has {word!r}, which this does not know"
            parts = urlsplit(word)
            target = parts.path + (f"?{parts.query}" if parts.query else "")
    return server.request(method, target, body, headers)


def run_python(program: str, server: LocalServer) -> str:
    """What a program prints that speaks to the server."""
    here = program.replace(ADDRESS, server.address)
    done = subprocess.run(
        [sys.executable, "-P", "-c", here],
        env={**os.environ, "PYTHONPATH": str(ROOT / "shared")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=START_SECONDS,
    )
    return done.stdout.rstrip("\n")


def show_json(document: Any) -> str:
    """JSON with a line for each record."""
    if isinstance(document, dict) and isinstance(document.get("items"), list) and document["items"]:
        items = ",\n".join(f"  {_one_line(item)}" for item in document["items"])
        rest = ", ".join(
            f"{_one_line(name)}: {_one_line(value)}" for name, value in document.items() if name != "items"
        )
        return f'{{"items": [\n{items}\n], {rest}}}'
    if isinstance(document, dict) and len(_one_line(document)) > 110:
        lines = ",\n".join(f"  {_one_line(name)}: {_one_line(value)}" for name, value in document.items())
        return f"{{\n{lines}\n}}"
    return _one_line(document)


def show_head(answer: Answer) -> str:
    """The status and the headers that a reader needs."""
    lines = [f"{name}: {answer.headers[name]}" for name in SHOWN_HEADERS if name in answer.headers]
    return "\n".join([f"HTTP/1.1 {answer.status}", *lines])


def same(example: Example, output: str) -> bool:
    """Whether an output is what the document shows."""
    if example.kind == "json":
        return _alike(json.loads(example.output), json.loads(output))
    return example.output == output


def _alike(shown: Any, found: Any) -> bool:
    if isinstance(shown, dict) and isinstance(found, dict):
        return list(shown) == list(found) and all(_alike(shown[name], found[name]) for name in shown)
    if isinstance(shown, list) and isinstance(found, list):
        return shown == ["..."] or (len(shown) == len(found) and all(map(_alike, shown, found)))
    if isinstance(shown, str) and isinstance(found, str) and shown.endswith("..."):
        return found.startswith(shown.removesuffix("..."))
    if isinstance(shown, int) and isinstance(found, int) and shown > _NOW:
        return found > _NOW
    return bool(shown == found)


def kept(shown: Any, found: Any) -> Any:
    """What was found, as it is shown already where that is alike."""
    if _alike(shown, found):
        return shown
    if isinstance(shown, dict) and isinstance(found, dict):
        return {name: kept(shown.get(name), value) for name, value in found.items()}
    if isinstance(shown, list) and isinstance(found, list) and len(shown) == len(found):
        return [kept(*each) for each in zip(shown, found, strict=True)]
    return found


def _one_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
