"""Deployments: the unmodified stack, really deployed to an emulator by `cdk bootstrap` and `cdk deploy`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from shardweave.cdk.configuration import stack_name
from shardweave.cdk.deploy_local import api_of, deploy
from shardweave.cdk.deployed_api import DeployedApi
from shardweave.cdk.emulator import CREDENTIALS, REGION, Emulator
from shardweave.service.files import named_service
from tests.e2e.issuer import Issuer
from tests.integration.held_port import held_port

SERVICE = "user_service"
STAGE = "test"


@dataclass(frozen=True)
class Deployed:
    """A stack in an emulator."""

    emulator: Emulator
    name: str
    outputs: dict[str, str]

    def api(self, **who: Any) -> DeployedApi:
        """Its API, for somebody."""
        return api_of(self.emulator, self.outputs, **who)

    def client(self, service: str) -> Any:
        """A client of the emulated account."""
        key, secret = CREDENTIALS
        return boto3.client(
            service,
            endpoint_url=self.emulator.url,
            region_name=REGION,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
        )

    def resources(self, kind: str) -> dict[str, str]:
        """The stack's resources of a kind: logical to physical names."""
        found = self.client("cloudformation").describe_stack_resources(StackName=self.name)["StackResources"]
        return {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in found if each["ResourceType"] == kind}

    def resource(self, kind: str, part: str) -> str:
        """The physical name of the one resource of a kind whose logical name has this part."""
        (found,) = (name for logical, name in self.resources(kind).items() if part in logical)
        return found

    def invoke(self, part: str, event: dict[str, Any]) -> Any:
        """What a function answers to an event."""
        function = self.resource("AWS::Lambda::Function", part)
        payload = json.dumps(event).encode()
        answer = self.client("lambda").invoke(FunctionName=function, Qualifier="live", Payload=payload)
        said = answer["Payload"].read()
        assert "FunctionError" not in answer, said
        return json.loads(said)

    def renew(self, part: str) -> None:
        """Let a function's alias go to a new version, so that its processes start anew."""
        functions, name = self.client("lambda"), self.resource("AWS::Lambda::Function", part)
        functions.update_function_configuration(FunctionName=name, Description="renewed")
        version = functions.publish_version(FunctionName=name)["Version"]
        functions.update_alias(FunctionName=name, Name="live", FunctionVersion=version)

    def log_of(self, part: str) -> list[str]:
        """What a function has written to its log."""
        logs, group = self.client("logs"), self.resource("AWS::Logs::LogGroup", part)
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        return [event["message"] for page in pages for event in page["events"]]


def deployed(emulator: Emulator, service: str = SERVICE, **context: str) -> Deployed:
    """The stack of a service, by name or path, deployed to an emulator that runs."""
    name = stack_name(named_service(service), STAGE)
    choices = {"service": service, "stage": STAGE, **context}
    outputs = deploy(
        emulator, name, [part for key, value in choices.items() for part in ("-c", f"{key}={value}")], first=True
    )
    assert outputs is not None, "the deployment failed; see above"
    return Deployed(emulator, name, outputs)


@pytest.fixture(scope="session", autouse=True)
def synthesis_without_rules() -> Iterator[None]:
    """The CDK compares no template with CloudFormation's rules, which takes longer than to make it: the tests of the
    template compare them for every service that ships, with more rules. What is deployed is the same."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("CDK_VALIDATION", "false")
        yield


@pytest.fixture(scope="session")
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.close()


@pytest.fixture(scope="session")
def made_assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the processes of a run keep the assets that a deployment has made. The CDK makes and packs none anew that
    is there by its hash."""
    folder = tmp_path_factory.getbasetemp()
    made = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "assets"
    (made / ".cache").mkdir(parents=True, exist_ok=True)
    return made


def assets_of(folder: Path) -> list[Path]:
    """The assets in a folder of the CDK, and the packed ones, relative to it."""
    return [each.relative_to(folder) for pattern in ("asset.*", ".cache/*.zip") for each in folder.glob(pattern)]


@pytest.fixture(scope="module")
def start_emulator(tmp_path_factory: pytest.TempPathFactory, made_assets: Path) -> Iterator[Callable[..., Emulator]]:
    """Starts emulators, and stops them when the tests of the file have run."""
    started: list[Emulator] = []
    ports = ExitStack()

    def start(**options: bool) -> Emulator:
        port = ports.enter_context(held_port())
        emulator = Emulator(Path(tmp_path_factory.mktemp("emulator")), port, **options)
        (output_of(emulator) / ".cache").mkdir(parents=True)
        for each in assets_of(made_assets):
            (output_of(emulator) / each).symlink_to(made_assets / each)
        emulator.start()
        started.append(emulator)
        return emulator

    yield start
    for emulator in started:
        emulator.stop()
        for each in assets_of(output_of(emulator)):
            with suppress(OSError):  # Another process has kept it.
                if not (made_assets / each).exists():
                    (output_of(emulator) / each).rename(made_assets / each)
    ports.close()


def output_of(emulator: Emulator) -> Path:
    """Where templates for an emulator are made, with their assets."""
    return emulator.folder / "cdk.out"


def eventually(check: Callable[[], bool], seconds: float = 600.0) -> bool:
    """Whether something that takes its time comes true."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
