"""Classes whose methods were compiled before are those that Python makes, to the last method."""

from __future__ import annotations

import importlib
import marshal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardweave.service.dataclass_code import NOT_IN_FUNCTIONS, keep

CLASSES = """
from dataclasses import InitVar, dataclass, field
from typing import ClassVar

@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0
    units: ClassVar[str] = "mm"

@dataclass(frozen=True, kw_only=True, order=True)
class Named(Point):
    name: str = field(default="a", compare=False)
    tags: dict = field(default_factory=dict, repr=False, hash=False)

@dataclass(slots=True, eq=False)
class Slotted:
    value: int = field(init=False, default=3)
    given: InitVar[int] = 4

    def __post_init__(self, given):
        self.value += given

@dataclass(unsafe_hash=True, match_args=False)
class Hashed:
    a: str
    b: tuple = ()
"""
RUN = """
import copy, dataclasses, pickle, sys
from pathlib import Path
from shardweave.service import dataclass_code
compiled = []
sys.addaudithook(lambda event, given: event == "compile" and given[1] == "<string>" and compiled.append(given[0]))
if sys.argv[1]:
    dataclass_code.use(Path(sys.argv[1]))
import classes_to_keep
texts = len(compiled)
made = vars(classes_to_keep)
Point, Named, Slotted, Hashed = (made[name] for name in ("Point", "Named", "Slotted", "Hashed"))
one, two = Named(x=1, name="n"), Named(x=1, y=0, name="other")
said = [repr(one), one == two, one < Named(x=2), Point(1) == Point(1, 0), hash(Point(1, 2)), repr(Slotted(given=9))]
said += [Slotted() == Slotted(), hash(Hashed("a")), dataclasses.replace(one, y=7), Point.__match_args__]
said += [pickle.loads(pickle.dumps(one)) == one, copy.copy(one) == one]
said += [[each.name for each in dataclasses.fields(Named)], dataclasses.asdict(Named(x=3))]
said.append(hasattr(Slotted(), "__dict__"))
for wrong in (lambda: Point(), lambda: Named(1, 2), lambda: Point(1, z=2), lambda: setattr(one, "x", 4)):
    try:
        said.append(wrong())
    except Exception as error:
        said.append(repr(error))
methods = {}
for name, kind in made.items():
    for attribute, method in vars(kind).items() if isinstance(kind, type) else ():
        code = getattr(method, "__code__", None)
        if code is not None:
            given = code.co_names, code.co_varnames, repr(method.__defaults__)
            methods[f"{name}.{attribute}"] = code.co_code.hex(), *given
print(repr((said, sorted(methods.items()))))
print(texts, file=sys.stderr)
"""


@pytest.fixture
def classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module of classes, that can be imported until the test ends."""
    (tmp_path / "classes_to_keep.py").write_text(CLASSES)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("classes_to_keep", None)


def make_them() -> None:
    sys.modules.pop("classes_to_keep", None)
    importlib.import_module("classes_to_keep")


def made(kept: Path | str, classes: Path) -> tuple[str, int]:
    """What the classes do in a process of their own, and how many texts it compiled for them."""
    variables = {"PYTHONPATH": ":".join([str(classes), *sys.path]), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", RUN, str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    return done.stdout, int(done.stderr)


def test_classes_of_kept_code_are_those_that_python_makes(classes: Path) -> None:
    keep(make_them, classes / "code")
    plain, compiled = made("", classes)
    assert compiled > 0
    assert made(classes / "code", classes) == (plain, 0)


def test_what_is_not_kept_is_compiled(classes: Path) -> None:
    keep(lambda: None, classes / "code")
    assert made(classes / "code", classes) == made("", classes)


def test_the_code_of_another_python_is_not_used(classes: Path) -> None:
    keep(make_them, classes / "code")
    _, codes = marshal.loads((classes / "code").read_bytes())
    (classes / "code").write_bytes(marshal.dumps((b"another", codes)))
    assert made(classes / "code", classes) == made("", classes)


def test_where_classes_can_t_be_made_nothing_is_kept(tmp_path: Path) -> None:
    def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        keep(fail, tmp_path / "code")
    assert list(tmp_path.iterdir()) == []


def test_what_functions_may_import_runs_no_command_and_needs_nothing_that_a_layer_lacks() -> None:
    lacked = [f"shardweave.{name}" for name in NOT_IN_FUNCTIONS if name != "__main__"]
    program = f"""
import sys
sys.modules.update(dict.fromkeys({lacked}))
from shardweave.service import dataclass_code
dataclass_code.import_what_functions_may()
print("shardweave.store" in sys.modules)
"""
    variables = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=variables)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
