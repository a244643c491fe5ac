"""The OpenAPI document is fit for generators of others: one in TypeScript, one in Python. What they make is
whole, and knows what the service takes and gives. (A strict checker finds faults in the Python one's own text.)"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shardweave.api.app import Api
from shardweave.api.operators import ALL_OPERATORS
from shardweave.cdk.tools import node_folder, with_node
from shardweave.service.build import Settings, build
from shardweave.table.embedded import EmbeddedTable
from tests.clients.served import checked
from tests.unit.api_world import CURSOR_KEYS

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "openapi"
PROGRAM = """import type { components, paths } from "./service.d.ts";

type Issue = components["schemas"]["Issue"];
type Listed = paths["/v1/issues"]["get"]["responses"][200]["content"]["application/json"];
type Asked = NonNullable<paths["/v1/issues"]["get"]["parameters"]["query"]>;

export const asked: Asked = { index: "gridTitle", "projectId.eq": "p", "title.prefix": "R", limit: 25 };
export const titles = (page: Listed): string[] => page.items.map((each) => each.title ?? "");
export const isOpen = (issue: Issue): boolean => issue.state === "open";
// @ts-expect-error: there is no such state
export const isShut = (issue: Issue): boolean => issue.state === "shut";
// @ts-expect-error: there is no such index
export const other: Asked = { index: "gridColor" };
"""
USES = """from service.api.users import get_user, list_user
from service.client import Client
from service.models.user import User
from service.models.user_write import UserWrite

client = Client(base_url="https://api.example.com")
written = UserWrite.from_dict({"firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b"})
assert written.first_name == "Ann"
assert written.to_dict() == {"firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b"}
read = User.from_dict({**written.to_dict(), "userId": "u", "created": 1, "updated": 2, "firstNameCanonical": "ann",
                       "lastNameCanonical": "lee"})
assert (read.user_id, read.created) == ("u", 1)
asked = list_user._get_kwargs(first_name_canonical_prefix="ja", limit=3)
assert asked["params"].items() >= {"firstNameCanonical.prefix": "ja", "limit": 3}.items(), asked
assert get_user._get_kwargs("a/b")["url"] == "/v1/users/a%2Fb"
"""


def api(service: str) -> Api:
    return build(Settings(CURSOR_KEYS, service=service, operators=ALL_OPERATORS), open_table=EmbeddedTable).api


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the lock file of npm says."""
    home = tmp_path_factory.mktemp("openapi")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCK / name, home)
    npm = node_folder().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [node_folder() / "node", npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    done = subprocess.run(command, cwd=home, env=with_node(), check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "node_modules"


def test_openapi_typescript_makes_types(tmp_path: Path, node_modules: Path) -> None:
    node = str(node_folder() / "node")
    (tmp_path / "service.json").write_bytes(api("issue_tracker").openapi)
    command = [node, node_modules / "openapi-typescript" / "bin" / "cli.js", "service.json", "-o", "service.d.ts"]
    assert checked(command, tmp_path) == ""
    (tmp_path / "program.ts").write_text(PROGRAM)
    compiler = [node, node_modules / "typescript" / "bin" / "tsc", "--noEmit", "--strict", "--module", "ESNext"]
    options = ["--target", "ES2022", "--moduleResolution", "bundler", "--allowImportingTsExtensions"]
    assert checked([*compiler, *options, "program.ts"], tmp_path) == ""


def test_openapi_python_client_makes_a_client(tmp_path: Path) -> None:
    (tmp_path / "service.json").write_bytes(api("user_service").openapi)
    command = [sys.executable, "-P", "-m", "openapi_python_client", "generate", "--path", "service.json"]
    done = subprocess.run(
        [*command, "--meta", "none", "--output-path", "service"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower(), "nothing is left out"
    (tmp_path / "uses.py").write_text(USES)
    assert checked([sys.executable, "uses.py"], tmp_path) == ""
