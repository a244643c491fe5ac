"""An index that is still being filled: written like any other, and not read."""

from __future__ import annotations

from shardweave.service.build import Settings
from shardweave.table.operations import Scan
from tests.unit.api_world import CURSOR_KEYS, Client, code_of, json_of, user_service

ANA = {"userId": "u1", "firstName": "Ana", "lastName": "Gómez", "beneficiaryId": "b1", "phone": "555"}


def test_a_query_can_not_name_a_hidden_index() -> None:
    client = Client(user_service(hidden_indexes=("firstName",)).api)
    assert code_of(client.get("/v1/users?index=firstName&firstNameCanonical.prefix=an")) == "unknown_name"
    assert b"firstName" not in client.get("/v1/users?index=nosuch").body


def test_what_only_a_hidden_index_answers_is_refused_and_not_guessed() -> None:
    shown, hiding = Client(user_service().api), Client(user_service(hidden_indexes=("phone",)).api)
    assert shown.get("/v1/users?phone=555").status == 200
    assert code_of(hiding.get("/v1/users?phone=555")) == "unsupported_query"


def test_the_planner_takes_another_index_where_one_answers_too() -> None:
    client = Client(user_service(hidden_indexes=("userBeneficiaryFirstName",)).api)
    client.post("/v1/users", ANA)
    page = json_of(client.get("/v1/users?beneficiaryId=b1"))
    assert [user["userId"] for user in page["items"]] == ["u1"]


def test_records_are_written_with_the_keys_of_hidden_indexes() -> None:
    written = []
    for hidden in ((), ("firstName", "phone")):
        service = user_service(hidden_indexes=hidden)
        Client(service.api).post("/v1/users", ANA)
        (item,) = service.parts.table.run(Scan()).items
        written.append({name: value for name, value in item.items() if name != "rev"})
        assert service.parts.table.layout.index("firstName") is not None
    assert written[0] == written[1]
    assert "firstNameRangeKey" in written[0]


def test_the_environment_names_them() -> None:
    variables = {"TABLE_NAME": "t", "HIDDEN_INDEXES": "phone,updated"}
    assert Settings.from_environment(variables, CURSOR_KEYS).hidden_indexes == ("phone", "updated")
    assert Settings.from_environment({"TABLE_NAME": "t", "HIDDEN_INDEXES": ""}, CURSOR_KEYS).hidden_indexes == ()
