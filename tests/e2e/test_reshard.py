"""A re-shard of a deployed stage, from an operator's request to its end, and one that is taken back. Its records are in
indexes with the table's shards, and in two with shards of their own.

The emulator hands the stream to the function, but keeps no schedule: the watchdog's event is sent here.
The tests are steps of one story, in the order of the file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from shardweave.cdk.deployed_api import DeployedApi
from shardweave.cdk.emulator import Emulator
from tests.e2e.conftest import Deployed, deployed, eventually
from tests.e2e.issuer import AUDIENCE, Issuer

SERVICE = "tests/e2e/moving_service.py"
PEOPLE = 36
PATH = "/v1/_reshard/user"
SIXTEEN = {"charBits": 2, "chars": 2}
CURSOR_LIFE_MS = 3000
WAITS = {
    "leaseMs": 2000,
    "acceptedMs": 0,
    "requestMs": 3000,
    "clocksMs": 0,
    "cursorLifeMs": CURSOR_LIFE_MS,
    "quietMs": 500,
    "recheckMs": [1000, 2000],
}


@pytest.fixture(scope="module")
def stack(start_emulator: Callable[..., Emulator], issuer: Issuer) -> Deployed:
    """A stage with short waits, where Olga is the operator."""
    access = {"issuer": issuer.url, "audience": AUDIENCE, "operators": f"{issuer.url} olga"}
    return deployed(start_emulator(), SERVICE, **access, reshardWaits=json.dumps(WAITS))


@pytest.fixture(scope="module")
def api(stack: Deployed, issuer: Issuer) -> DeployedApi:
    return stack.api(token=issuer.token())


@pytest.fixture(scope="module")
def people(api: DeployedApi) -> dict[str, str]:
    """Last names by id."""
    made = {}
    for number in range(PEOPLE):
        person = {"firstName": f"Name {number % 5}", "lastName": f"Last {number}", "beneficiaryId": "b1"}
        reply = api.call("POST", "/v1/users", person)
        assert reply.status == 201, reply.body
        made[reply.document["userId"]] = reply.document["lastName"]
    return made


class Operating:
    """An operator, and the schedule of the watchdog."""

    def __init__(self, stack: Deployed, issuer: Issuer) -> None:
        self._stack = stack
        self._issuer = issuer

    def call(self, method: str, path: str = PATH, document: Any = None) -> Any:
        reply = self._stack.api(token=self._issuer.token("olga")).call(method, path, document)
        assert reply.status in (200, 202), reply.body
        return reply.document

    def wake(self) -> None:
        self._stack.invoke("Resharder", {"wake": True})

    def wait_for(self, reached: Callable[[Any], bool], meanwhile: Callable[[], None] = lambda: None) -> list[str]:
        """The phases that were seen until the status is so. Each wait ends by a wake, so that `meanwhile` runs in every
        phase that lasts for a time, however long it takes."""
        phases: list[str] = []

        def look() -> bool:
            found = self.call("GET")
            assert not found["attention"], found
            phases.append(found["phase"])
            meanwhile()
            if not reached(found):
                self.wake()
                return False
            return True

        assert eventually(look), self.call("GET")
        return list(dict.fromkeys(phases))


@pytest.fixture(scope="module")
def operator(stack: Deployed, issuer: Issuer) -> Operating:
    return Operating(stack, issuer)


def listed(api: DeployedApi, **query: str) -> dict[str, str]:
    """All people, page by page; none may come twice. A list that took longer than a cursor lives is read anew."""
    found: dict[str, str] = {}
    token, began = "", time.monotonic()
    while True:
        reply = api.get("/v1/users", limit="10", **query, **({"nextToken": token} if token else {}))
        if reply.status == 400 and time.monotonic() - began > CURSOR_LIFE_MS / 1000:
            assert reply.document["type"].endswith(":cursor_expired"), reply.body
            found, token, began = {}, "", time.monotonic()
            continue
        assert reply.status == 200, reply.body
        for user in reply.document["items"]:
            assert user["userId"] not in found
            found[user["userId"]] = user["lastName"]
        token = reply.document["nextToken"]
        if not token:
            return found


def shards(stack: Deployed) -> dict[str, int]:
    """How many people each hash key holds, as the table has them."""
    scanned = stack.client("dynamodb").scan(TableName=stack.outputs["TableName"])["Items"]
    keys = [item["hashKey"]["S"] for item in scanned if item["hashKey"]["S"].startswith("user!")]
    return {key: keys.count(key) for key in set(keys)}


@dataclass(frozen=True)
class Own:
    """An index with shards of its own: the parameters that ask it, the attribute with its hash key, and how many."""

    query: dict[str, str]
    attribute: str
    shards: int


OWN = (
    Own({"index": "ofBeneficiary", "beneficiaryId": "b1"}, "beneficiary1HashKey", 1),
    Own({"index": "everybody"}, "allHashKey", 2),
)


def check_own_shards(stack: Deployed, api: DeployedApi, people: dict[str, str]) -> None:
    """Everybody is found once by each of them, and they have no more shards than they say."""
    items = stack.client("dynamodb").scan(TableName=stack.outputs["TableName"])["Items"]
    for own in OWN:
        assert listed(api, **own.query) == people
        assert len({item[own.attribute]["S"] for item in items if own.attribute in item}) == own.shards


def ended(found: Any) -> bool:
    return not found["moving"]


def test_to_others_than_operators_the_path_does_not_exist(api: DeployedApi, people: dict[str, str]) -> None:
    for method, path in (("GET", PATH), ("POST", PATH), ("POST", f"{PATH}/abort")):
        assert api.call(method, path, SIXTEEN if method == "POST" else None).status == 404


def test_what_it_takes_is_told_before(operator: Operating, people: dict[str, str]) -> None:
    told = operator.call("POST", f"{PATH}/estimate", SIXTEEN)
    assert (told["shardsFrom"], told["shardsTo"]) == (4, 16)
    assert operator.call("GET")["phase"] == "stable"


def test_taken_back_it_leaves_everything_as_it_was(
    stack: Deployed, operator: Operating, api: DeployedApi, people: dict[str, str]
) -> None:
    before = shards(stack)
    assert operator.call("POST", PATH, SIXTEEN)["phase"] == "dual_old"
    assert eventually(lambda: sum(shards(stack).values()) > PEOPLE)
    operator.call("POST", f"{PATH}/abort")
    assert operator.wait_for(ended)[-1] == "stable"
    assert operator.call("GET")["shards"] == 4
    assert shards(stack) == before
    assert listed(api, index="created") == people
    check_own_shards(stack, api, people)


def test_to_the_end_every_record_is_in_the_new_shards_and_what_was_written_meanwhile_too(
    stack: Deployed, operator: Operating, api: DeployedApi, people: dict[str, str]
) -> None:
    assert eventually(lambda: operator_starts(operator))
    names = list(people)

    def use() -> None:
        """One person changes, one goes, one comes; and everybody is listed, once."""
        name = f"Changed {len(people)}"
        assert api.call("PATCH", f"/v1/users/{names[0]}", {"lastName": name}).status == 200
        people[names[0]] = name
        made = api.call("POST", "/v1/users", {"firstName": "New", "lastName": name, "beneficiaryId": "b1"})
        assert made.status == 201, made.body
        people[made.document["userId"]] = name
        assert listed(api, index="created") == people
        for own in OWN:
            assert listed(api, **own.query) == people

    phases = operator.wait_for(ended, use)
    assert (phases[0], phases[-1]) == ("dual_old", "stable")
    assert "dual_new" in phases
    assert {len(key) for key in shards(stack)} == {len("user!") + 2}
    assert sum(shards(stack).values()) == len(people)
    assert listed(api, beneficiaryId="b1", index="userBeneficiaryLastName") == people
    check_own_shards(stack, api, people)
    for user, name in people.items():
        assert api.get(f"/v1/users/{user}").document["lastName"] == name


def operator_starts(operator: Operating) -> bool:
    """Refused as long as processes may not know yet of the last one's end."""
    try:
        return bool(operator.call("POST", PATH, SIXTEEN)["moving"])
    except AssertionError:
        return False


def test_it_is_looked_at_again_afterwards_and_nothing_is_wrong(
    stack: Deployed, operator: Operating, people: dict[str, str]
) -> None:
    key = {"hashKey": {"S": "user._reshard!"}, "rangeKey": {"S": "_control"}}

    def done() -> bool:
        operator.wake()
        control = stack.client("dynamodb").get_item(TableName=stack.outputs["TableName"], Key=key)["Item"]
        return control["rechecked"] == {"N": "2"}

    assert eventually(done)
    found = operator.call("GET")
    assert (found["phase"], found["attention"], found["shards"]) == ("stable", "", 16)
