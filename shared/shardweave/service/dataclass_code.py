"""The methods of dataclasses, compiled when a layer is built instead of at every start of a function.

Python writes the methods of each dataclass as text and compiles the text when the class is created: for about 280
classes this is half of the time that importing the library takes. `python -m shardweave.service.dataclass_code` imports
the modules that functions may import, and stores each compiled text with its code in a file beside this module. In a
function that has called `use`, the code is looked up by its text. So the standard library still creates the classes,
from the code that it would have compiled itself. A text that is not in the file is compiled; so is every text if the
file is missing or belongs to another version of Python.

The file: marshal of (magic number of the bytecode, {text: marshal of its code}).
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import marshal
import pkgutil
from collections.abc import Callable
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

FILE = Path(__file__).with_name("dataclass_code.marshal")
NOT_IN_FUNCTIONS = ("__main__", "cdk", "cli", "database.event_loop", "local", "testing")
"""Parts of the library that a layer does not have, or whose packages it does not have."""

Run = Callable[[str, dict[str, Any], dict[str, Any]], None]


def use(file: Path = FILE) -> None:
    """From now on, take the methods of new dataclasses from the file, if it exists and is of this version of Python."""
    if not file.is_file():
        return
    magic, codes = marshal.loads(file.read_bytes())  # noqa: S302 - a part of the layer, as the modules are
    if magic != MAGIC_NUMBER:
        return

    def run(text: str, known: dict[str, Any], names: dict[str, Any]) -> None:
        code = codes.get(text)
        builtins.exec(text if code is None else marshal.loads(code), known, names)  # noqa: S102, S302 - as above

    _let_dataclasses_use(run)


def keep(make_classes: Callable[[], object], file: Path = FILE) -> None:
    """Write the file with the methods of all dataclasses that a function creates."""
    codes: dict[str, bytes] = {}

    def run(text: str, known: dict[str, Any], names: dict[str, Any]) -> None:
        code = _compiled(text)
        codes[text] = marshal.dumps(code)
        builtins.exec(code, known, names)  # noqa: S102 - what the standard library wrote

    _let_dataclasses_use(run)
    try:
        make_classes()
    finally:
        _let_dataclasses_use(builtins.exec)
    file.write_bytes(marshal.dumps((MAGIC_NUMBER, codes)))


def import_what_functions_may(package: str = "shardweave") -> None:
    """Import the modules of a package of the library, except those whose dependencies a layer does not have."""
    found = importlib.import_module(package)
    for module in pkgutil.iter_modules(found.__path__, f"{package}."):
        if module.name.partition(".")[2] in NOT_IN_FUNCTIONS:
            continue
        if module.ispkg:
            import_what_functions_may(module.name)
        else:
            importlib.import_module(module.name)


def _compiled(text: str) -> CodeType:
    return compile(text, "<string>", "exec")


def _let_dataclasses_use(run: Run | Any) -> None:
    """Replace the function with which the module `dataclasses` executes code: it looks up `exec` among its own names
    first."""
    vars(dataclasses)["exec"] = run


if __name__ == "__main__":
    keep(import_what_functions_may)
