"""Installed into an empty environment, with each extra alone, the wheel does what that extra is for."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.package.conftest import ROOT, Installed

Environments = Callable[[str], Installed]

OF_EXTRAS = {
    "aws_lambda_powertools": "api",
    "greenlet": "async",
    "aws_cdk": "cdk",
    "rich": "cli",
    "uvicorn": "local",
    "moto": "",
}
"""Packages, and the extra that brings each; moto is for the library's own tests alone."""


@pytest.mark.parametrize("extra", ["", "api", "cdk", "cli", "local"])
def test_the_library_is_that_of_the_wheel_and_imports_nothing_of_an_extra(installed: Environments, extra: str) -> None:
    environment = installed(extra)
    statement = (
        "import json, sys, shardweave; shardweave.Database; print(json.dumps([shardweave.__file__, *sys.modules]))"
    )
    where, *modules = json.loads(environment.python(statement))
    assert Path(where).is_relative_to(environment.home)
    assert not {name.partition(".")[0] for name in modules} & set(OF_EXTRAS)
    assert not [name for name in modules if re.match(r"shardweave\.(cdk|cli|local)\b", name)]


@pytest.mark.parametrize(
    ("extra", "modules"), [("", "routing"), ("local", "routing, testing"), ("cdk", "routing, cdk")]
)
def test_every_public_name_is_there(installed: Environments, extra: str, modules: str) -> None:
    statement = (
        f"import shardweave; from shardweave import {modules};"
        "print(all([getattr(shardweave, name) is not None for name in shardweave.__all__]))"
    )
    assert installed(extra).python(statement) == "True"


@pytest.mark.parametrize(("extra", "said"), [("", "pip install 'shardweave[async]'"), ("async", "opened")])
def test_on_an_event_loop_dynamodb_needs_its_extra(installed: Environments, extra: str, said: str) -> None:
    statement = (
        "from shardweave import AsyncDatabase, Entity, HashKey, Schema, errors, unique_property\n"
        "class Note(Entity, token='note'):\n    note_id: str = unique_property()\n"
        "try:\n    AsyncDatabase(Schema([Note]), table_name='notes', region='us-east-1')\n    print('opened')\n"
        "except errors.ConfigurationError as error:\n    print(error)"
    )
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    assert said in installed(extra).run("python", "-c", statement, **keys).stdout


def test_without_an_extra_readme_s_program_runs(installed: Environments) -> None:
    environment, readme = installed(""), (ROOT / "README.md").read_text(encoding="utf-8")
    program, said = re.findall(r"```python\n((?:.|\n)*?)```(?:.|\n)*?```text\n((?:.|\n)*?)```", readme)[0]
    (environment.folder / "orders.py").write_text(program, encoding="utf-8")
    assert environment.run("python", "orders.py").stdout == said


@pytest.mark.parametrize(
    ("command", "extra"), [("serve", "local"), ("test", "local"), ("synth", "cdk"), ("cdk", "cdk")]
)
def test_without_its_extra_a_command_says_which_one_it_needs(installed: Environments, command: str, extra: str) -> None:
    said = installed("").run("shardweave", command, code=2).stderr
    assert f"pip install 'shardweave[{extra}]'" in said


def test_api_answers_requests(installed: Environments) -> None:
    environment = installed("api")
    environment.run("shardweave", "init", "notes", "--no-hashes")
    statement = (
        "from shardweave.service.build import Settings, build;from shardweave import CursorKeys;"
        "from shardweave.table.embedded import EmbeddedTable;from shardweave.api.lambda_event import event_of;"
        "service = build(Settings(CursorKeys('k', {'k': bytes(32)}), 'notes'), open_table=EmbeddedTable);"
        "print(service.api.resolve(event_of('GET', '/v1/notes', '', {}, b'', {}))['body'])"
    )
    answered = environment.run("python", "-c", statement, folder=environment.folder / "notes").stdout
    assert json.loads(answered)["items"] == []


def test_cli_shows_keys_of_a_service_named_by_its_path(installed: Environments) -> None:
    environment = installed("cli")
    environment.run("shardweave", "init", "notes", "--no-hashes")
    arguments = ("--service", "notes/notes.py", "--entity", "note", "ownerId=ann")
    assert "note by ownerState" in environment.run("shardweave", "explain", *arguments).stdout


def test_local_serves_and_tests_a_project_of_one_s_own(installed: Environments) -> None:
    environment = installed("local")
    environment.run("shardweave", "init", "orders", "--no-hashes")
    folder = environment.folder / "orders"
    assert {"pydantic", "uvicorn"} <= set(
        re.findall("^([a-z0-9-]+)==", (folder / "requirements.txt").read_text(), re.M)
    )
    assert "1 passed" in environment.run("shardweave", "test", folder=folder).stdout
    server = subprocess.Popen(
        [environment.home / "bin" / "shardweave", "serve", "orders.py", "--port", "0"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[1]
        with urllib.request.urlopen(f"{address}/v1/orders") as answer:
            assert json.loads(answer.read())["items"] == []
    finally:
        server.send_signal(signal.SIGTERM)
        said = server.communicate()[1]
    assert server.returncode == 0
    assert "Traceback" not in said
    assert (folder / ".data").is_dir()


def test_cdk_synthesizes_a_project_of_one_s_own(installed: Environments) -> None:
    environment = installed("cdk")
    environment.run("shardweave", "init", "orders", "--no-hashes")
    folder = environment.folder / "orders"
    flags = json.loads((folder / "cdk.json").read_text())["context"]
    node = environment.python("from shardweave.cdk.tools import node_folder; print(node_folder())")
    environment.run(
        "python",
        "app.py",
        folder=folder,
        PATH=f"{node}:/usr/bin:/bin",
        CDK_OUTDIR=str(folder / "cdk.out"),
        CDK_CONTEXT_JSON=json.dumps({**flags, "aws:cdk:bundling-stacks": []}),
    )
    template = json.loads((folder / "cdk.out" / "shardweave-orders-dev.template.json").read_text())
    kinds = {each["Type"] for each in template["Resources"].values()}
    assert {"AWS::DynamoDB::GlobalTable", "AWS::ApiGatewayV2::Api", "AWS::Lambda::Function"} <= kinds


def test_cdk_keeps_account_of_what_was_deployed_of_a_project_of_one_s_own(installed: Environments) -> None:
    environment = installed("cdk")
    assert "no service is here" in environment.run("shardweave", "manifest", code=2).stderr
    environment.run("shardweave", "init", "parcels", "--no-hashes")
    folder = environment.folder / "parcels"
    assert environment.run("shardweave", "manifest", folder=folder).stdout == "parcels: never deployed\n"
    written = environment.run("shardweave", "manifest", "--write", folder=folder).stdout
    assert written.startswith("parcels: written to manifests/parcels.json; commit it\n")
    assert (folder / "manifests" / "parcels.json").is_file()
    service = folder / "parcels.py"
    service.write_text(service.read_text().replace('Index("', 'Index("new'))
    said = environment.run("shardweave", "manifest", "parcels.py", folder=folder, code=1).stdout
    assert said.startswith("parcels: +2 -2 indexes, ")
    assert "shardweave deploy" in said
    environment.run("shardweave", "manifest", "--waves", folder=folder)
    (folder / "elsewhere").mkdir()
    service.rename(folder / "elsewhere" / "parcels.py")
    chosen = json.loads((folder / "cdk.json").read_text())
    chosen["context"]["service"] = "elsewhere/parcels.py"
    (folder / "cdk.json").write_text(json.dumps(chosen))
    said = environment.run("shardweave", "manifest", folder=folder / "elsewhere").stdout
    assert said == "parcels: +2 -2 indexes, 0 fault(s)\n"


def test_cdk_deploys_the_functions_that_the_wheel_holds(installed: Environments) -> None:
    environment = installed("cdk")
    node = environment.python("from shardweave.cdk.tools import node_folder; print(node_folder())")
    statement = (
        "import json; from shardweave.cdk.function import FUNCTIONS; from shardweave.cdk.sources import source_files;"
        "print(json.dumps([[path.name for path in source_files((folder,))] for folder in FUNCTIONS.glob('*/')]))"
    )
    done = environment.run("python", "-c", statement, PATH=f"{node}:/usr/bin:/bin")
    folders = [names for names in json.loads(done.stdout) if names]
    assert len(folders) == len(list((ROOT / "functions").glob("*/handler.py")))
    assert all("handler.py" in names for names in folders)
