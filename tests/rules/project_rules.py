"""The rules of this repository that no linter knows, each a function from a tree to its breaches.

Trees are read from the disk, not from git, so that the rules hold in an unpacked archive too; what `.gitignore` names
is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .argument_parsers import parsers_that_abbreviate
from .document_links import broken_links
from .needed_packages import packages_without_an_extra
from .public_imports import inner_imports

LONGEST_MODULE = 500
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "misc"}

PURE = (
    "shardweave.schema.checks.access",
    "shardweave.schema.access_rules",
    "shardweave.values.codecs",
    "shardweave.schema.relations",
    "shardweave.keys.key_format",
    "shardweave.keys.entity_keys",
    "shardweave.schema.manifest",
    "shardweave.query.cursor",
    "shardweave.query.intervals",
    "shardweave.query.merge",
    "shardweave.query.plan",
    "shardweave.reshard.stream_filter",
    "shardweave.reshard.control",
    "shardweave.reshard.copy_actions",
    "shardweave.reshard.phases",
    "shardweave.reshard.declaration_guard",
    "shardweave.reshard.load.policy",
    "shardweave.reshard.independent_keys",
    "shardweave.reshard.load.counters",
    "shardweave.reshard.work_items",
    "shardweave.schema.schema",
    "shardweave.keys.shard_key",
    "shardweave.keys.sharding",
    "shardweave.store.attempts",
    "shardweave.store.outcomes",
    "shardweave.store.writing.record_actions",
    "shardweave.store.lookups.catalog",
    "shardweave.store.lookups.unique_values",
    "shardweave.store.writing.merge_transaction",
    "shardweave.store.writing.prepare",
    "shardweave.store.lookups.backfill_steps",
    "shardweave.store.lookups.lookup_records",
    "shardweave.store.writing.dual_write",
    "shardweave.store.relations.enforced",
    "shardweave.store.events.lww_registers",
    "shardweave.store.locations",
    "shardweave.store.events.pending_records",
    "shardweave.store.writing.write_steps",
    "shardweave.table.dynamodb.transport.calls",
    "shardweave.table.dynamodb.transport.exchange",
    "shardweave.table.dynamodb.transport.reply_parser",
    "shardweave.table.dynamodb.transport.retries",
    "shardweave.table.dynamodb.transport.signing",
)
"""They make plans and texts. Nothing that they import, directly or not, reaches outside the process or waits."""

LAYERS = """
    errors
    table
    values
    keys
    keys.shard_key
    schema
    query
    store
    access
    reshard
    maintenance
    wire database
    routing
    api
    api.clients api.graphql
    service testing
    cli
    cdk local
    __main__
"""
"""The folders and files of the library, line by line: a module imports of its own line and of those above. A folder
inside another may have a line of its own."""

UPWARDS = {
    ("shardweave.query.runner", "shardweave.reshard.leased_maps"),
    ("shardweave.store.store", "shardweave.reshard.leased_maps"),
    ("shardweave.cli.main", "shardweave.cdk.tools"),
}
"""Imports against the layers, each inside the function that needs it: who is given no shard maps leases them, and the
command line has the tools of the CDK made."""

CIRCLES = (
    {"services.order_tracking", "services._samples.orders"},
    {"services._samples.users", "services.user_service"},
    {"shardweave.schema.entity_manager", "shardweave.schema.schema"},
    {"shardweave.keys.shard_key.external", "shardweave.keys.shard_key.key"},
)
"""Pairs of modules that need each other: one of the two imports the other only for its types, or when it is called."""

FRONT_DOOR = "shardweave"
"""It names what is public, and loads none of it before it is asked for."""

REACHES_OUT = {
    "asyncio",
    "boto3",
    "botocore",
    "concurrent",
    "http",
    "logging",
    "requests",
    "socket",
    "sqlite3",
    "subprocess",
    "threading",
    "urllib",
}

ONE_MACHINES_PATH = re.compile(r"(?<![\w.])/(?:root|home|work|tmp|Users)/[A-Za-z0-9._-]+")
PACKAGE_INDEX = re.compile(r"pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|debian\.org|crates\.io", re.IGNORECASE)
LOCK_FILE_ADDRESS = re.compile(r"https?://|--index-url|--find-links|--extra-index-url")


@dataclass(frozen=True)
class Tree:
    """A checkout."""

    root: Path

    @cached_property
    def files(self) -> tuple[Path, ...]:
        return tuple(sorted(self._walk(self.root, self._ignored())))

    def _ignored(self) -> set[str]:
        ignore = self.root / ".gitignore"
        lines = ignore.read_text().split() if ignore.exists() else []
        return {".git", *(line.rstrip("/") for line in lines)}

    def _walk(self, folder: Path, ignored: set[str]) -> Iterator[Path]:
        for path in folder.iterdir():
            if path.name in ignored or path.suffix == ".pyc":
                continue
            if path.is_dir():
                yield from self._walk(path, ignored)
            elif not path.is_symlink():
                yield path

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def modules(self, *folders: str, mentioning: tuple[str, ...] = ("",)) -> Iterator[tuple[str, ast.Module]]:
        """Each Python file below the folders (or anywhere), by its name. Where a breach can't be written without one of
        the words, only files with such a word are parsed, which is what takes the time."""
        for path in self.files:
            name = self.name(path)
            if path.suffix == ".py" and (not folders or name.startswith(tuple(f"{folder}/" for folder in folders))):
                text = path.read_text()
                if any(word in text for word in mentioning):
                    yield name, self._parsed(path, name)

    def _parsed(self, path: Path, name: str) -> ast.Module:
        if path not in self._modules:
            self._modules[path] = ast.parse(path.read_text(), name)
        return self._modules[path]

    @cached_property
    def _modules(self) -> dict[Path, ast.Module]:
        """Each file is parsed once, whatever number of rules look at it."""
        return {}

    def texts(self) -> Iterator[tuple[str, str]]:
        """Each text file, by its name."""
        for path in self.files:
            content = path.read_bytes()
            if b"\0" not in content[:8192]:
                yield self.name(path), content.decode(errors="replace")


def imported(name: str, module: ast.Module) -> set[str]:
    """The full names of what a module of `shared/`, or of the top, imports while it is loaded or later."""
    package = module_name(name).split(".")
    if not name.endswith("__init__.py"):
        package = package[:-1]
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            found |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
    return found


def module_name(name: str) -> str:
    return name.removeprefix("shared/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def long_modules(tree: Tree) -> list[str]:
    """A module is one noun, and fits in a reader's head."""
    code = [path for path in tree.files if path.suffix == ".py" or path == tree.root / "run"]
    counted = [(tree.name(path), len(path.read_text().splitlines())) for path in code]
    return [f"{name}: {lines} lines, at most {LONGEST_MODULE}" for name, lines in counted if lines > LONGEST_MODULE]


def vague_modules(tree: Tree) -> list[str]:
    """A module is named for what it holds."""
    return [
        f"{tree.name(path)}: name it for what it holds"
        for path in tree.files
        if path.suffix == ".py" and VAGUE_NAMES & set(module_name(tree.name(path)).split("."))
    ]


def boto3_outside_its_backend(tree: Tree) -> list[str]:
    """Only the DynamoDB backend, and what deploys, know boto3, so that all else runs on any table."""
    return [
        f"{name}: imports {each}"
        for name, module in tree.modules("shared", "functions", mentioning=("boto",))
        if not name.startswith(("shared/shardweave/table/dynamodb", "shared/shardweave/cdk/"))
        for each in sorted(imported(name, module))
        if each.partition(".")[0] in {"boto3", "botocore"}
    ]


def library_that_looks_up(tree: Tree) -> list[str]:
    """The library knows nothing of what is built on it."""
    above = {"app", "benchmarks", "functions", "infra", "local", "services", "tests"}
    return [
        f"{name}: imports {each}"
        for name, module in tree.modules("shared/shardweave")
        for each in sorted(imported(name, module))
        if each.partition(".")[0] in above
    ]


def library_that_looks_out(tree: Tree) -> list[str]:
    """What the library is needs nothing of how it is used on one machine, deployed, or asked by command line."""
    outer = ("cdk", "cli", "local")
    usage = tuple(f"shared/shardweave/{each}" for each in (*(f"{folder}/" for folder in outer), "__main__.py"))
    return [
        f"{name}: imports {each}"
        for name, module in tree.modules("shared/shardweave")
        if not name.startswith(usage)
        for each in sorted(imported(name, module))
        if f"{each}.".startswith(tuple(f"shardweave.{folder}." for folder in outer))
    ]


def impure_modules(tree: Tree) -> list[str]:
    """What plans does not act: no file, socket, thread, log or wait, through any import."""
    modules = {module_name(name): (name, module) for name, module in tree.modules("shared")}
    imports = {each: imported(name, module) for each, (name, module) in modules.items()}
    bad = {each: _reaching_out(imports[each], module) for each, (_, module) in modules.items()}
    breaches = []
    for start in PURE:
        reached, pending = set(), [start]
        while pending:
            current = pending.pop()
            if current in reached or current not in modules or current == FRONT_DOOR:
                continue
            reached.add(current)
            pending += imports[current]
            breaches += [f"{start}: through {modules[current][0]}, {each}" for each in sorted(bad[current])]
    return breaches


def _reaching_out(imports: set[str], module: ast.Module) -> set[str]:
    bad = {each for each in imports if each.partition(".")[0] in REACHES_OUT}
    waits = "time.sleep" in imports or any(
        isinstance(node, ast.Attribute) and node.attr == "sleep" and ast.unparse(node) == "time.sleep"
        for node in ast.walk(module)
    )
    return bad | ({"time.sleep"} if waits else set())


def circles_of_modules(tree: Tree) -> list[str]:
    """A module stands above all that it imports, in whatever way it does: what imports each other is read together."""
    modules = {module_name(name): (name, module) for name, module in tree.modules("shared")}
    imports = {
        each: _without_packages(imported(name, module) & modules.keys() - {each})
        for each, (name, module) in modules.items()
    }
    above = {each: _reached(each, imports) for each in modules}
    circles = {frozenset(other for other in above[each] if each in above[other]) for each in modules}
    return [
        f"{', '.join(sorted(modules[each][0] for each in circle))}: they import each other"
        for circle in sorted(circles, key=sorted)
        if len(circle) > 1 and circle not in CIRCLES
    ]


def arrows_upwards(tree: Tree) -> list[str]:
    """A module imports what stands above it in the order of layers, and nothing below; not in a function, either."""
    rows = {name: row for row, line in enumerate(LAYERS.strip().splitlines()) for name in line.split()}
    modules = {module_name(name): (name, module) for name, module in tree.modules("shared")}
    ours = {each: found for each, found in modules.items() if each.startswith(f"{FRONT_DOOR}.")}
    breaches = [f"{name}: it has no layer" for each, (name, _) in ours.items() if _row(each, rows) is None]
    for each, (name, module) in ours.items():
        for other in sorted(_without_packages(imported(name, module) & ours.keys())):
            row, of_other = _row(each, rows) or 0, _row(other, rows) or 0
            if of_other > row and (each, other) not in UPWARDS:
                breaches.append(f"{name}: imports {other}, which stands below it")
    return breaches


def _row(module: str, rows: Mapping[str, int]) -> int | None:
    """The line of the innermost folder of `module` that has one."""
    parts = module.split(".")[1:]
    return next((rows[name] for end in range(len(parts), 0, -1) if (name := ".".join(parts[:end])) in rows), None)


def _without_packages(modules: set[str]) -> set[str]:
    """Where a module is imported from its package, the package is only where it stands."""
    return {each for each in modules if not any(other.startswith(f"{each}.") for other in modules)}


def _reached(start: str, imports: dict[str, set[str]]) -> set[str]:
    reached, pending = set(), [start]
    while pending:
        current = pending.pop()
        if current not in reached:
            reached.add(current)
            pending += imports[current]
    return reached


def static_shard_maps(tree: Tree) -> list[str]:
    """Whoever opens a table reads the shard maps in force: what ships names no other kind."""
    return [
        f"{name}:{node.lineno}: {node.id}"
        for name, module in tree.modules("shared", "functions", mentioning=("StaticMaps",))
        for node in ast.walk(module)
        if isinstance(node, ast.Name) and node.id == "StaticMaps"
    ]


def skipped_tests(tree: Tree) -> list[str]:
    """A test that does not run shows nothing. (A known fault of an emulator is a strict expected failure.)"""
    skipping = {"pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "pytest.importorskip"}
    return [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, module in tree.modules("tests", mentioning=("skip",))
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and "skip" in node.attr and ast.unparse(node) in skipping
    ]


def patched_tests(tree: Tree) -> list[str]:
    """Tests replace parts where the service is put together, not behind the code's back."""
    breaches = []
    for name, module in tree.modules("tests", mentioning=("mock", "setattr")):
        if any(each.startswith(("unittest.mock", "mock.")) for each in imported(name, module)):
            breaches.append(f"{name}: imports a mocking library")
        breaches += [
            f"{name}:{node.lineno}: {ast.unparse(node)}"
            for node in ast.walk(module)
            if isinstance(node, ast.Attribute) and node.attr == "setattr"
        ]
    return breaches


def addresses_of_one_machine(tree: Tree) -> list[str]:
    """What is committed works anywhere: no path of one machine, no package index of one network."""
    return [
        f"{name}:{number}: {found[0]}"
        for name, text in tree.texts()
        for number, line in enumerate(text.splitlines(), 1)
        for pattern in (ONE_MACHINES_PATH, PACKAGE_INDEX)
        if (found := pattern.search(line))
    ]


def lock_files_with_addresses(tree: Tree) -> list[str]:
    """Lock files pin content by hash, and leave where it comes from to each machine's settings."""
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in tree.texts()
        if name.startswith("requirements/") and not name.endswith(".md")
        for number, line in enumerate(text.splitlines(), 1)
        if LOCK_FILE_ADDRESS.search(line)
    ]


RULES: tuple[Callable[[Tree], list[str]], ...] = (
    long_modules,
    vague_modules,
    boto3_outside_its_backend,
    library_that_looks_up,
    library_that_looks_out,
    impure_modules,
    circles_of_modules,
    arrows_upwards,
    inner_imports,
    packages_without_an_extra,
    static_shard_maps,
    skipped_tests,
    patched_tests,
    addresses_of_one_machine,
    lock_files_with_addresses,
    parsers_that_abbreviate,
    broken_links,
)
