"""What a service's own routes may not give: it is refused with a word about the function, and before it is written."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave import Check, Create, Delete, Update, errors
from shardweave.routing import JsonModel, Listed, Route, Writes, get, listed, post, writes
from shardweave.testing import Client
from tests.unit.database_world import SCHEMA, Account, Team
from tests.unit.test_routing import serving

RED = {"team_id": "red", "name": "Red"}
ANN = {"account_id": "ann", "team_id": "red", "email": "ann@x.org"}
BOB = {"account_id": "bob", "team_id": "red", "email": "bob@x.org"}
KEPT = Team(team_id="kept", name="Kept")


class Word(JsonModel):
    """An answer of the service's own."""

    word: str


def posting(given: Any, returned: Any, status: int | None = None) -> Route[..., Any]:
    """A route that returns a value, whatever it says that it returns."""

    def act() -> Any:
        return given

    act.__annotations__["return"] = returned
    return post("/v1/acts", status=status)(act)


def opened(route: Route[..., Any]) -> Client:
    client = serving(SCHEMA, route)
    client.database.create(KEPT)
    return client


DELETION = writes(Delete(Team, "kept"))


@pytest.mark.parametrize("key", [None, "once"])
@pytest.mark.parametrize("given", [DELETION, writes(Create(RED, Team), Delete(Team, "kept"), Create(ANN, Account))])
def test_writes_that_show_nothing_are_answered_with_204(given: Writes[Any], key: str | None) -> None:
    headers = {} if key is None else {"Idempotency-Key": key}
    with opened(posting(given, Writes[None])) as client:
        answers = [client.post("/v1/acts", headers=headers).expect(204) for _ in range(1 if key is None else 2)]
        assert {each.body for each in answers} == {b""}
        assert client.database.get(Team, "kept") is None
        responses = client.openapi["paths"]["/v1/acts"]["post"]["responses"]
        assert "204" in responses
        assert "201" not in responses


UNFIT: list[tuple[Any, Any, str]] = [
    (DELETION, Writes[Team], "it answers team and writes no record"),
    (writes(), Writes[Team], "its writes have no operation"),
    (writes(), Writes[None], "its writes have no operation"),
    (writes(KEPT), Writes[Team], "operation 0 of its writes is none, but"),  # type: ignore[arg-type]  # it is none
    (writes(Check(Team, "kept"), Delete(Team, "kept")), Writes[Team], "it answers team and writes no record"),
    (writes(Create(ANN, Account), Create(BOB, Account)), Writes[Account], "account and writes account, account"),
    (writes(Create(RED, Team)), Writes[Account], "it answers account and writes team"),
    (writes(Create(RED, Team), Create(ANN, Account)), Writes[tuple[Account, Team]], "answers account, team and"),
    (writes(Update(Team, "kept", {"name": "x"})), Writes[Word], "nothing makes the Word that it answers"),
    (writes(Delete(Team, "kept"), answer=lambda: Word(word="x")), Writes[Word], "it answers 201, and no record is"),
    (writes(Delete(Team, "kept"), answer=lambda: 1), Writes[None], "Writes[None] is answered with nothing"),
    (5, Writes[Team], "must return writes, got"),
    (None, Writes[Team], "must return writes, got"),
    (5, Team, "its answer must be Team, got"),
    (5, Team | None, "its answer must be Team, got"),
    (Account(**ANN), Team, "its answer must be Team, got"),
    ({"word": "x"}, Word, "its answer must be Word, got"),
]


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
@pytest.mark.parametrize(("given", "returned", "message"), UNFIT)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    given: Any, returned: Any, message: str, headers: dict[str, str]
) -> None:
    with opened(posting(given, returned)) as client:
        answer = client.post("/v1/acts", headers=headers).expect(500)
        assert isinstance(answer.failure, errors.ConfigurationError)
        assert message in str(answer.failure)
        assert "act" in answer.failure.where
        assert answer.failure.fix
        there = [client.database.get(Team, each) for each in ("kept", "red")]
        assert [None if each is None else each.name for each in there] == ["Kept", None]
        assert client.database.count(Account, index="created") == 0


@pytest.mark.parametrize("returned", [Team, Writes[Team], Word])
def test_an_answer_with_content_has_no_status_that_says_there_is_none(returned: Any) -> None:
    with pytest.raises(errors.ConfigurationError, match="an answer with the status 204 has no content"):
        opened(posting(None, returned, status=204))


def test_rows_are_of_the_type_that_a_list_says() -> None:
    @get("/v1/words")
    def words() -> Listed[Word]:
        """Words."""
        return listed(Account, index="created").shown_as(lambda each: each.email)  # type: ignore[return-value]

    @get("/v1/none")
    def none() -> Listed[Account]:
        """No list."""
        return None  # type: ignore[return-value]

    with serving(SCHEMA, words, none) as client:
        client.database.batch_write([KEPT, Account(**ANN)])
        for path, message in (("/v1/words", "its answer must be Word"), ("/v1/none", "must return a list")):
            failure = client.get(path).expect(500).failure
            assert isinstance(failure, errors.ConfigurationError)
            assert message in str(failure)


def named(name: str, path: str, made: Any = get) -> Route[..., Any]:
    def with_key(key: str) -> None: ...

    def without() -> None: ...

    function: Any = with_key if "{" in path else without
    function.__name__ = name
    return made(path)(function)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        ([named("a", "/v1/x"), named("b", "/v1/x")], "b: GET /v1/x: 'a' has this method and path already"),
        ([named("a", "/v1/x/{key}"), named("b", "/v1/x/{key}")], "b: GET /v1/x/{key}: 'a' has"),
        ([named("a", "/v1/teams", post)], "a: POST /v1/teams: 'createTeam' has this method and path already"),
        ([named("a", "/v1/teams/{key}")], "a: GET /v1/teams/{key}: 'getTeam' has this method and path already"),
        ([named("a", "/v1/x"), named("a", "/v1/y")], "a: GET /v1/y: GET /v1/x is called so already"),
        ([named("get_team", "/v1/x")], "getTeam: GET /v1/x: GET /v1/teams/{key} is called so already"),
    ],
)
def test_no_route_hides_another_or_has_its_name(routes: list[Route[..., Any]], message: str) -> None:
    with pytest.raises(errors.ConfigurationError) as raised:
        serving(SCHEMA, *routes)
    assert message in str(raised.value)
    assert raised.value.fix


def test_one_path_takes_several_methods() -> None:
    with serving(SCHEMA, named("a", "/v1/x"), named("b", "/v1/x", post), named("c", "/v1/teams/most")) as client:
        client.get("/v1/x").expect(204)
        client.post("/v1/x").expect(204)
        client.get("/v1/teams/most").expect(204)
