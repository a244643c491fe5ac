"""`./run bench [NAME ...]`."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import benchmarks
from benchmarks.tables import Table, machine

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"


def names() -> list[str]:
    """The benchmarks there are; the one that goes by the others' results is the last."""
    skipped = {"__main__", "plots", "stub", "tables"}
    found = pkgutil.iter_modules(benchmarks.__path__)
    available = [module.name for module in found if not (module.ispkg or module.name in skipped)]
    return sorted(available, key=lambda name: (name == "headlines", name))


def write_docs(name: str, text: str) -> None:
    """Replace what stands between a page's markers for the benchmark, in every page that has them. Where a page has
    markers for this version of Python besides, those are used."""
    version = f"{name}, Python {sys.version_info.major}.{sys.version_info.minor}"
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]:
        content = page.read_text(encoding="utf-8")
        marked = version if f"<!-- bench {version} -->" in content else name
        begin, end = f"<!-- bench {marked} -->", f"<!-- end {marked} -->"
        if begin in content and end in content:
            before, _, rest = content.partition(begin)
            page.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")
            print(f"written to {page.relative_to(ROOT)}", flush=True)


def write_plots(tables: Sequence[Table]) -> None:
    """The drawings of tables that have one, where the pages show them."""
    for plot in [table.plot for table in tables if table.plot is not None]:
        folder = ROOT / "docs" / "plots"
        folder.mkdir(exist_ok=True)
        (folder / f"{plot.name}.svg").write_text(plot.svg(), encoding="utf-8")


def measured(module: ModuleType, options: argparse.Namespace) -> Sequence[Table]:
    """The tables of one benchmark, in the size that was asked for."""
    if options.records and hasattr(module, "run_with"):
        return list(module.run_with(options.records))
    full = options.full and hasattr(module, "run_full")
    return list(module.run_full() if full else module.run())


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run bench", description="Measure, side by side.", allow_abbrev=False)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark; without one they are listed")
    parser.add_argument("--docs", action="store_true", help="put the tables into the pages that show them")
    parser.add_argument("--all", action="store_true", help="run every benchmark")
    parser.add_argument("--full", action="store_true", help="with the sizes that take minutes, where there are such")
    parser.add_argument("--records", type=int, help="with so many records, where a benchmark has its own")
    options = parser.parse_args(arguments)
    available = names()
    chosen = available if options.all else [name.replace("-", "_") for name in options.names]
    unknown = sorted(set(chosen) - set(available))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(available)}")
    if not chosen:
        for name in available:
            print(f"{name:16} {importlib.import_module(f'benchmarks.{name}').TITLE}")
        return 0
    RESULTS.mkdir(exist_ok=True)
    for name in chosen:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"## {module.TITLE}\n\n{machine()}\n", flush=True)
        tables = measured(module, options)
        for table in tables:
            print(table.markdown() + "\n", flush=True)
        if options.docs:
            write_plots(tables)
            write_docs(name, "\n\n".join([f"{machine()}.", *(table.markdown() for table in tables)]))
        result = {"title": module.TITLE, "machine": machine(), "tables": [table.as_json() for table in tables]}
        (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2, default=str) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
