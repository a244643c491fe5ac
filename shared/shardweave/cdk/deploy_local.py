"""`./run deploy-local`: deploys the unmodified stack to an emulator on this machine.

It starts the emulator in the background if necessary, deploys the stack with a layer for this machine, and prints calls
to copy. Repeating it updates the stack. `--stop` stops the emulator and deletes everything in it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from ..database.project import command_name, data_folder
from ..errors import ConfigurationError, ShardweaveError
from ..errors.exit_codes import EXIT_CODES, Unavailable, exit_code_of
from .cdk_command import cdk
from .choices import CHOICES, check_names
from .configuration import Configuration
from .deployed_api import DeployedApi
from .deployed_stack import described, outputs_of
from .emulator import ACCOUNT, CREDENTIALS, REGION, Emulator, Process, running
from .options import Given, add_options, choices_of, context_of, stack_of, with_service
from .target import target_of

FOLDER = data_folder() / "emulator"
DEFAULT_PORT = 4566
MOST_PORTS = 65_535
STAGE = "local"
CALLER = f"arn:aws:iam::{ACCOUNT}:root"
"""The principal that the emulator derives from its credentials."""
_KEYS = dict(zip(("aws_access_key_id", "aws_secret_access_key"), CREDENTIALS, strict=True))
EXAMPLES = {
    "date-time": "2025-01-31T09:30:00Z",
    "date": "2025-01-31",
    "uuid": "7f0c0a1e-6f5d-4c1a-9a55-3f8c1d2e4b60",
    "byte": "AAAA",
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=command_name("deploy-local"),
        usage="%(prog)s [SERVICE] [options]",
        allow_abbrev=False,
        epilog=EXIT_CODES,
        description="Deploy the stack to an emulator on this machine.",
    )
    add_options(parser, stage=STAGE)
    parser.add_argument("--port", type=port, metavar="PORT", help=f"of the emulator (default: {DEFAULT_PORT})")
    parser.add_argument("--stop", action="store_true", help="stop the emulator, and with it all that was deployed")
    options = parser.parse_args(with_service(arguments))
    found = running(FOLDER)
    emulator = Emulator(FOLDER, found.port if found else options.port or DEFAULT_PORT)
    if options.stop:
        emulator.stop()
        say("stopped" if found else "nothing was running")
        return 0
    try:
        choices = choices_here(options)
        check_names(choices)
        schema = Configuration.from_context(Given({**choices, "layer": "host"})).schema
        check_port(options.port, found)
        with only_one_at_a_time(FOLDER):
            if not found:
                say(f"Starting the emulator on {emulator.url} ...")
                emulator.start()
            outputs = deploy(emulator, stack_of(choices), context_of(choices), first=not found)
    except KeyboardInterrupt:
        say("stopped; the same command goes on from there")
        return 130
    except ShardweaveError as error:
        say(f"error: {error}")
        return exit_code_of(error)
    if outputs is None:
        return 1
    print(how_to_call(emulator, outputs, list(schema.entities)), flush=True)
    return 0


def choices_here(options: argparse.Namespace) -> dict[str, str]:
    """The choices, with the stage of an emulator if none is given, and, if callers sign, with the printed credentials
    as operator. Raises ConfigurationError for an account or a region that is not the emulator's."""
    chosen = {"stage": STAGE, **choices_of(options)}
    target_of({**CHOICES, **chosen}).check(ACCOUNT, REGION)
    return chosen if chosen.get("issuer") else {"operators": CALLER, **chosen}


def port(text: str) -> int:
    """A port number on a command line."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= MOST_PORTS):
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a port: give a number from 1 to {MOST_PORTS}")
    return int(text)


def check_port(asked: int | None, found: Process | None) -> None:
    """Refuse another port than that of the running emulator. Raises ConfigurationError."""
    if found is not None and asked not in (None, found.port):
        raise ConfigurationError(
            f"the emulator of this folder runs already, on {found.port}.",
            where="--port",
            fix=f"leave it out; or `{command_name('deploy-local')} --stop` first, which ends what was deployed",
        )


@contextmanager
def only_one_at_a_time(folder: Path) -> Iterator[None]:
    """A lock held while something is deployed from a folder. Raises ConfigurationError if another process holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "deploying").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Unavailable(
                "another one is deploying from this folder.", where=command_name("deploy-local"), fix="let it end first"
            ) from None
        yield


def deploy(emulator: Emulator, name: str, context: list[str], *, first: bool) -> dict[str, str] | None:
    """Deploy the stack of that name to the emulator, and return its outputs; None if it failed. `first`: nothing was
    deployed there before."""
    made, outputs = emulator.folder / "cdk.out", emulator.folder / "outputs.json"
    outputs.unlink(missing_ok=True)
    app = ["--app", str(made)]
    steps = [("Making the template and its assets ...", ["synth", "-c", "layer=host", *context, "--output", str(made)])]
    if first:
        steps.append(("Preparing the emulator ...", ["bootstrap", *app, f"aws://{ACCOUNT}/{REGION}"]))
    approved = ["--require-approval", "never", "--outputs-file", str(outputs)]
    steps.append((f"Deploying {name} ...", ["deploy", name, *app, *approved]))
    for said, command in steps:
        say(said)
        if cdk([*command, "--ci"], variables=emulator.variables, quiet=True):
            return None
    here = Config(proxies={})
    client = boto3.client("cloudformation", endpoint_url=emulator.url, region_name=REGION, config=here, **_KEYS)
    return deployed_outputs(outputs, name, lambda: described(client, name))


def deployed_outputs(file: Path, name: str, ask: Callable[[], Mapping[str, Any] | None]) -> dict[str, str]:
    """The outputs of a stack: those in the CDK's file, or, if it had nothing to do and wrote none, those of the stack.
    Raises ConfigurationError for a stack without outputs, such as one whose creation was stopped."""
    written = json.loads(file.read_text()).get(name) if file.is_file() else None
    outputs = dict(written or outputs_of(ask()))
    if "ApiId" not in outputs:
        raise ConfigurationError(
            "the stack has no outputs: its deployment was stopped before its end.",
            where=name,
            fix=f"run `{command_name('deploy-local')} --stop`, and deploy again",
        )
    return outputs


def api_of(emulator: Emulator, outputs: Mapping[str, str], **who: Any) -> DeployedApi:
    """The deployed API: its name is in the Host header, and its address is the emulator's."""
    host = f"{outputs['ApiId']}.execute-api.localhost:{emulator.port}"
    return DeployedApi(f"127.0.0.1:{emulator.port}", host, region=REGION, **who)


# -- what is printed --------------------------------------------------------------------------------------------------


def how_to_call(emulator: Emulator, outputs: Mapping[str, str], tokens: Sequence[str]) -> str:
    """Calls of the deployed API, to copy into a shell. `tokens` are those of the service's entities."""
    api = api_of(emulator, outputs, credentials=CREDENTIALS)
    description = api.get("/openapi.json")
    if description.status in (401, 403):
        token = ["-H", "Authorization: Bearer TOKEN", "-H", f"Host: {api.host}", f"{emulator.url}/openapi.json"]
        called = f"# All that there is, with a token of the issuer for TOKEN\n{shlex.join(['curl', '-s', *token])}\n"
        return f"{called}\n{_beside(emulator, outputs)}"
    described = description.document
    curl = ["curl", "-s", "--aws-sigv4", f"aws:amz:{REGION}:execute-api", "--user", ":".join(CREDENTIALS)]
    curl += ["-H", f"Host: {api.host}"]
    calls: dict[str, list[str]] = {}
    found = first_collection(described, lambda path: api.get(path, limit="5").status == 200)
    if found is not None:
        path, example = found
        create = ["-H", "Content-Type: application/json", "-d", json.dumps(example, ensure_ascii=False)]
        calls["Create a record"] = [*curl, *create, f"{emulator.url}{path}"]
        calls["List records"] = [*curl, f"{emulator.url}{path}?limit=5"]
    for path, space in list(reshards(api, tokens))[:1]:
        post = [*curl, "-H", "Content-Type: application/json", "-d", json.dumps(space)]
        calls["What more shards would take; without /estimate they are made"] = [
            *post,
            f"{emulator.url}{path}/estimate",
        ]
        calls["How far that is"] = [*curl, f"{emulator.url}{path}"]
    calls["All that there is"] = [*curl, f"{emulator.url}/openapi.json"]
    calls["Nobody comes in without signing"] = ["curl", "-s", *curl[-2:], f"{emulator.url}/openapi.json"]
    none = [] if found else ["# Its records need a token's claims: deploy it with -c issuer=... -c audience=...\n"]
    lines = none + [f"# {meaning}\n{shlex.join(call)}\n" for meaning, call in calls.items()]
    return "\n".join([*lines, _beside(emulator, outputs)])


def _beside(emulator: Emulator, outputs: Mapping[str, str]) -> str:
    """Further information about the deployment."""
    table = f"# The table is {outputs['TableName']}; AWS_ENDPOINT_URL={emulator.url} leads every AWS tool there.\n"
    return f"{table}# The emulator's log is {emulator.log}.\n# {command_name('deploy-local')} --stop ends it."


def reshards(api: DeployedApi, tokens: Sequence[str]) -> Iterator[tuple[str, dict[str, int]]]:
    """The re-shards that the caller may start: their paths and shard spaces."""
    for token in tokens:
        path = f"/v1/_reshard/{token}"
        for chars in (2, 3):
            space = {"charBits": 2, "chars": chars}
            if api.call("POST", f"{path}/estimate", space).status == 200:
                yield path, space
                break


def first_collection(described: Mapping[str, Any], answers: Callable[[str], bool]) -> tuple[str, dict[str, Any]] | None:
    """The first collection in an OpenAPI document that can be listed without parameters, with an example record for it;
    None if there is none."""
    for path, methods in described["paths"].items():
        if "get" in methods and "post" in methods and "{" not in path and answers(path):
            schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
            return path, dict(example_of(schema, described))
    return None


def example_of(schema: Mapping[str, Any], described: Mapping[str, Any]) -> Any:
    """A minimal value that fits a JSON schema."""
    if "$ref" in schema:
        found: Any = described
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return example_of(found, described)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return example_of(schema[choice][0], described)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type", "string")
    if kind == "object":
        required = schema.get("required", [])
        return {name: example_of(part, described) for name, part in schema["properties"].items() if name in required}
    if kind == "string" and schema.get("format") in EXAMPLES:
        return EXAMPLES[schema["format"]]
    examples = {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": True, "array": []}
    return examples.get(kind, "example")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
