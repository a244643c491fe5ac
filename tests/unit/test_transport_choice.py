"""Where the direct transport is used, and where botocore."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.auth import _host_from_url
from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES
from botocore.session import Session

from shardweave.errors import ConfigurationError
from shardweave.table.dynamodb.transport.calls import OPERATIONS
from shardweave.table.dynamodb.transport.choice import (
    CHANGES_BOTOCORE,
    UNDERSTOOD,
    VARIABLE,
    Direct,
    Surroundings,
    direct_or_why_not,
    wanted,
)
from shardweave.table.dynamodb.transport.direct import DirectTransport
from shardweave.table.dynamodb.transport.endpoint import HostEndpoint, place_of
from shardweave.table.dynamodb.transport.rounds import Attempted
from shardweave.table.dynamodb.transport.signing import DYNAMODB, SECRETS_MANAGER, Credentials, Service, Signer

ROOT = Path(__file__).parents[2]

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
LAMBDA = {
    **KEYS,
    "AWS_SESSION_TOKEN": "token",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_REGION": "eu-central-1",
    "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
    "AWS_LAMBDA_FUNCTION_NAME": "api",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
    "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
    "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
    "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/api",
    "AWS_LAMBDA_LOG_STREAM_NAME": "stream",
    "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9001",
    "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR",
    "AWS_XRAY_DAEMON_ADDRESS": "169.254.79.129:2000",
    "LD_LIBRARY_PATH": "/var/lang/lib",
    "PATH": "/usr/bin",
}


def chosen(variables: dict[str, str], *modules: str, files: tuple[str, ...] = (), **asked: Any) -> Direct | str:
    around = Surroundings(variables, modules, Path("home"), lambda path: path.as_posix() in files)
    return direct_or_why_not(
        around, asked.pop("table", "orders"), asked.pop("region", None), asked.pop("endpoint_url", None), **asked
    )


def test_a_function_has_all_that_is_needed() -> None:
    found = chosen(LAMBDA)
    assert isinstance(found, Direct)
    assert found.place.host == "dynamodb.eu-central-1.amazonaws.com"
    assert (found.place.port, found.place.secure, found.place.is_aws) == (443, True, True)
    assert found.credentials == Credentials("key", "secret", "token")


NAMES_THAT_BOTOCORE_READS = sorted(
    {
        name
        for _, variables, _, _ in BOTOCORE_DEFAUT_SESSION_VARIABLES.values()
        for name in ([variables] if isinstance(variables, str) else variables or [])
    }
    | {
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
        "AWS_ENDPOINT_URL_DYNAMODB_STREAMS",
        "AWS_CREDENTIAL_EXPIRATION",
        "AWS_ACCOUNT_ID",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_ROLE_ARN",
        "AWS_LAMBDA_EXEC_WRAPPER",
        "AWS_NEVER_HEARD_OF",
        "BOTO_CONFIG",
    }
)


@pytest.mark.parametrize("name", NAMES_THAT_BOTOCORE_READS)
def test_each_variable_that_means_something_to_botocore_alone_leads_to_botocore(name: str) -> None:
    """A33, A34."""
    if name in UNDERSTOOD:
        assert name in {"AWS_DEFAULT_REGION", "AWS_CA_BUNDLE"}
        return
    assert chosen({**LAMBDA, name: "x"}) == f"{name} is set"
    assert chosen({**LAMBDA, name: ""}) == f"{name} is set"


@pytest.mark.parametrize("name", ["http_proxy", "HTTPS_PROXY", "all_proxy", "ftp_proxy"])
def test_a_proxy_leads_to_botocore(name: str) -> None:
    """A33."""
    assert isinstance(chosen({**LAMBDA, name: "http://proxy"}), str)
    assert isinstance(chosen({**LAMBDA, name: "", "no_proxy": "localhost"}), Direct)


@pytest.mark.parametrize("file", ["home/.aws/config", "home/.aws/credentials"])
def test_a_file_of_settings_leads_to_botocore(file: str) -> None:
    """A33."""
    assert isinstance(chosen(LAMBDA, files=(file,)), str)


@pytest.mark.parametrize("module", CHANGES_BOTOCORE)
def test_what_stands_between_botocore_and_the_service_leads_to_botocore(module: str) -> None:
    """A38."""
    assert chosen(LAMBDA, module) == f"the module {module} is loaded"
    assert isinstance(chosen(LAMBDA, module, modules_matter=False), Direct)


@pytest.mark.parametrize("name", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_certificates_in_a_file_are_trusted_and_others_lead_to_botocore(name: str, tmp_path: Path) -> None:
    """A39."""
    file = tmp_path / "ca.pem"
    file.touch()
    found = chosen({**LAMBDA, name: str(file)})
    assert isinstance(found, Direct)
    assert found.trusted == str(file)
    for other in ("", " ", str(tmp_path), str(tmp_path / "none")):
        assert isinstance(chosen({**LAMBDA, name: other}), str)


def test_the_bundle_for_aws_comes_before_that_for_requests(tmp_path: Path) -> None:
    """A39."""
    (tmp_path / "aws").touch()
    (tmp_path / "requests").touch()
    both = {"AWS_CA_BUNDLE": str(tmp_path / "aws"), "REQUESTS_CA_BUNDLE": str(tmp_path / "requests")}
    found = chosen({**LAMBDA, **both})
    assert isinstance(found, Direct)
    assert found.trusted == both["AWS_CA_BUNDLE"]


def test_the_older_name_of_the_token_comes_first() -> None:
    """A34."""
    found = chosen({**LAMBDA, "AWS_SECURITY_TOKEN": "older"})
    assert isinstance(found, Direct)
    assert found.credentials.token == "older"
    found = chosen({**LAMBDA, "AWS_SECURITY_TOKEN": "", "AWS_SESSION_TOKEN": ""})
    assert isinstance(found, Direct)
    assert found.credentials.token is None


@pytest.mark.parametrize("name", KEYS)
def test_half_a_pair_of_keys_leads_to_botocore(name: str) -> None:
    """A34."""
    assert isinstance(chosen({**LAMBDA, name: ""}), str)
    assert isinstance(chosen({each: value for each, value in LAMBDA.items() if each != name}), str)


def test_the_region_is_the_one_that_botocore_takes() -> None:
    """A34."""
    without = {name: value for name, value in LAMBDA.items() if name != "AWS_DEFAULT_REGION"}
    assert isinstance(chosen(without), str)
    found = chosen({**LAMBDA, "AWS_REGION": "us-east-1"})
    assert isinstance(found, Direct)
    assert found.region == "eu-central-1"
    found = chosen(LAMBDA, region="us-west-2")
    assert isinstance(found, Direct)
    assert found.place.host == "dynamodb.us-west-2.amazonaws.com"


def test_endpoints_are_those_of_botocore() -> None:
    """A33, A35: in every region of every partition, or botocore is needed."""
    session = Session()
    session.set_credentials("key", "secret")
    direct = 0
    regions = [
        region
        for partition in session.get_available_partitions()
        for region in session.get_available_regions("dynamodb", partition)
    ]
    draw = random.Random(18)
    for region in [*draw.sample(regions, 12), "local", "us-gov-west-1", "cn-north-1"]:
        found = chosen(KEYS, region=region)
        if isinstance(found, Direct):
            direct += 1
            client = session.create_client("dynamodb", region_name=region)
            assert client.meta.endpoint_url == f"https://{found.place.header}"
            client.close()
    public = session.get_available_regions("dynamodb", "aws")
    assert all(isinstance(chosen(KEYS, region=region), Direct) for region in public if region != "local")
    others = set(regions) - set(public)
    assert not any(isinstance(chosen(KEYS, region=region), Direct) for region in others)
    assert direct > 3


@pytest.mark.parametrize("region", ["local", "us-gov-west-1", "cn-north-1", "us-east-1\r\nX-Evil: 1", "", "aws-global"])
def test_another_region_leads_to_botocore(region: str) -> None:
    """A34, A35, A36."""
    assert isinstance(chosen({**KEYS}, region=region), str)


@pytest.mark.parametrize("table", ["arn:aws:dynamodb:us-east-1:123456789012:table/orders", "a b", "", "a/b", "a\n"])
def test_a_table_that_is_not_given_by_its_name_leads_to_botocore(table: str) -> None:
    """A35."""
    assert isinstance(chosen(LAMBDA, table=table), str)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000",
        "http://localhost:80",
        "https://localhost:443/",
        "http://127.0.0.1",
        "http://[::1]:8000",
        "https://[::1]",
        "https://DynamoDB.us-east-1.amazonaws.com",
        "http://dynamodb-local:8000",
    ],
)
def test_the_host_of_an_endpoint_is_the_one_that_botocore_signs(url: str) -> None:
    """A36."""
    place = place_of(url)
    assert place is not None
    assert place.header == _host_from_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/path",
        "http://localhost:8000?a=b",
        "http://localhost:8000/?a=b",
        "http://localhost#a",
        "http://user:pw@localhost:8000",
        "http://user@localhost",
        "ftp://localhost",
        "localhost:8000",
        "//localhost",
        "http://",
        "http://localhost.",
        "http://local host",
        "http://localhost:8000\r\nX-Evil: 1",
        " http://localhost",
        "http://localhost:0",
        "http://localhost:99999",
        "http://localhost:x",
        "http://[::1",
        "http://[fe80::1%25eth0]:8000",
        "http://münchen.example",
        "",
    ],
)
def test_an_endpoint_that_is_more_than_a_host_leads_to_botocore(url: str) -> None:
    """A36."""
    assert place_of(url) is None


@pytest.mark.parametrize("evil", ["a\r\nX-Evil: 1", "a b", "a\n", "é", "a\t", ""])
def test_keys_and_names_that_would_break_a_header_are_refused_without_being_shown(evil: str) -> None:
    """A36."""
    for given in ((evil, "s", None), ("k", evil, None), ("k", "s", evil or " ")):
        with pytest.raises(ConfigurationError) as raised:
            Credentials(*given)
        assert not evil or evil not in str(raised.value)
    for region, host in ((evil, "h"), ("r", evil)):
        with pytest.raises(ConfigurationError):
            Signer(Credentials("k", "s"), region, host)
    assert isinstance(chosen({**LAMBDA, "AWS_SECRET_ACCESS_KEY": evil}), str)
    assert "secret" not in repr(Credentials("k", "secret", "secret"))


@pytest.mark.parametrize(
    ("transport", "variable", "expected"),
    [
        ("auto", None, "auto"),
        ("auto", "auto", "auto"),
        ("auto", "", "auto"),
        ("auto", "botocore", "botocore"),
        ("direct", None, "direct"),
        ("direct", "botocore", "botocore"),
        ("botocore", "auto", "botocore"),
    ],
)
def test_botocore_can_be_asked_for(transport: str, variable: str | None, expected: str) -> None:
    assert wanted(transport, {} if variable is None else {VARIABLE: variable}) == expected


@pytest.mark.parametrize(("transport", "variable"), [("boto", None), ("auto", "direct"), ("auto", "no")])
def test_another_transport_is_refused(transport: str, variable: str | None) -> None:
    with pytest.raises(ConfigurationError):
        wanted(transport, {} if variable is None else {VARIABLE: variable})


@pytest.mark.parametrize("service", [DYNAMODB, SECRETS_MANAGER], ids=lambda service: service.name)
def test_what_is_said_of_a_service_is_what_its_model_says(service: Service) -> None:
    """A43."""
    model = Session().get_service_model(service.name)
    assert (model.metadata["targetPrefix"], model.signing_name) == (service.target, service.name)
    assert f"application/x-amz-json-{model.metadata['jsonVersion']}" == service.content_type
    assert model.service_id.hyphenize().replace("-", "_").upper() == service.variable
    assert set(OPERATIONS.values()) <= set(model.operation_names) or service is SECRETS_MANAGER


ONE, OTHER = "http://127.0.0.1:4566", "http://localhost:8000"


@pytest.mark.parametrize("service", [DYNAMODB, SECRETS_MANAGER], ids=lambda service: service.name)
@pytest.mark.parametrize(
    "variables",
    [
        {"AWS_ENDPOINT_URL": ONE},
        {"AWS_ENDPOINT_URL_DYNAMODB": ONE},
        {"AWS_ENDPOINT_URL_SECRETS_MANAGER": ONE},
        {"AWS_ENDPOINT_URL": ONE, "AWS_ENDPOINT_URL_DYNAMODB": OTHER},
        {"AWS_ENDPOINT_URL": OTHER, "AWS_ENDPOINT_URL_SECRETS_MANAGER": ONE},
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("given", [None, "http://127.0.0.1:9"])
def test_an_endpoint_of_the_environment_is_the_one_that_botocore_takes(
    service: Service, variables: dict[str, str], given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A33, A43."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    session = Session()
    session.set_credentials("key", "secret")
    client = session.create_client(service.name, region_name="eu-west-1", endpoint_url=given)
    found = chosen({**KEYS, **variables}, region="eu-west-1", endpoint_url=given, service=service)
    assert isinstance(found, Direct)
    assert client.meta.endpoint_url == f"{'https' if found.place.secure else 'http'}://{found.place.header}"
    client.close()


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"])
@pytest.mark.parametrize("value", ["", "http://localhost/path", "ftp://localhost", "localhost:8000"])
def test_an_endpoint_of_the_environment_that_is_more_than_a_host_leads_to_botocore(name: str, value: str) -> None:
    """A33, A36."""
    assert isinstance(chosen({**LAMBDA, name: value}), str)


def test_nothing_happens_before_the_first_request() -> None:
    """A32, A40: so that a snapshot of the process holds no connection, no address and no randomness."""
    place = place_of("https://dynamodb.eu-central-1.amazonaws.com")
    assert place is not None
    endpoint = HostEndpoint(place)
    transport = DirectTransport(
        "orders",
        ("hashKey", "rangeKey"),
        endpoint,
        Signer(Credentials("key", "secret"), "eu-central-1", place.header),
        needs_checksum=True,
        connections=4,
        connect_timeout=1.0,
        read_timeout=1.0,
        max_attempts=3,
    )
    assert (transport.pool.idle, endpoint._known, endpoint._context) == (0, None, None)
    assert isinstance(getattr(transport._draw, "__self__", None), random.SystemRandom)


NAMED = re.compile(r"\bA(\d+)\b")


def test_each_requirement_is_named_by_a_test() -> None:
    page = (ROOT / "docs" / "transport.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| A(\d+) \|", page, re.MULTILINE)
    assert listed == [str(number) for number in range(1, 45)]
    tests = [*ROOT.glob("tests/*/test_transport_*.py"), ROOT / "tests" / "unit" / "test_reads_at_once.py"]
    named = {number for test in tests for number in NAMED.findall(test.read_text(encoding="utf-8"))}
    assert set(listed) - named == set()


def test_the_example_of_an_observer_notes_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Any] = []
    span = SimpleNamespace(add_event=lambda name, attributes: events.append((name, attributes)))
    trace = SimpleNamespace(get_current_span=lambda: span)
    monkeypatch.setitem(sys.modules, "opentelemetry", SimpleNamespace(trace=trace))
    page = (ROOT / "docs" / "transport.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    names["observe"](Attempted("get_item", 1, 200, "id", True, "", 1.5))
    shown = {"rpc.method": "get_item", "http.status_code": 200, "aws.request_id": "id"}
    assert events == [("dynamodb attempt", shown)]
