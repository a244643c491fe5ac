"""The command line: keys, space, plan and size."""

from __future__ import annotations

import io
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.cli.console import Streams
from shardweave.cli.json_lines import json_text, parse_json
from shardweave.cli.main import COMMANDS, EXIT_CODES, main
from shardweave.cli.plan import PARTITION_BYTES, plan, shard_space
from shardweave.errors import ConfigurationError, InputError
from shardweave.keys.sharding import MAX_SHARDS, READ_AHEAD_MS

from .cli_world import NOW, shardweave
from .test_entity_manager import CONFIG, VECTORS
from .test_user_service_schema import ARTICLE_USER, IN_MILLISECONDS


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("config") / "config.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    return str(path)


# -- keys -------------------------------------------------------------------------------------------------------------


def test_keys_of_the_article_s_record() -> None:
    outcome = shardweave("keys", "--entity", "user", "--key-format", "article", given=json.dumps(ARTICLE_USER))
    assert (outcome.code, outcome.errors) == (0, "")
    assert outcome.output == (
        '{"userId": "wf5yU_5f63gqauSOLpP5O", "beneficiaryId": "JCcwi4vyqwMJdaBwbjLG3", "created": 1726880933, '
        '"updated": 1726880933, "firstName": "Jason", "firstNameCanonical": "jason", "lastName": "Williscroft", '
        '"lastNameCanonical": "williscroft", "phone": "17739999999", '
        '"hashKey": "user!1", "rangeKey": "userId#wf5yU_5f63gqauSOLpP5O", '
        '"userBeneficiaryHashKey": "user!1|beneficiaryId#JCcwi4vyqwMJdaBwbjLG3", '
        '"userHashKey": "user!1|userId#wf5yU_5f63gqauSOLpP5O", '
        '"firstNameRangeKey": "firstNameCanonical#jason|lastNameCanonical#williscroft|created#1726880933", '
        '"lastNameRangeKey": "lastNameCanonical#williscroft|firstNameCanonical#jason|created#1726880933"}\n'
    )


@pytest.mark.parametrize(("entity", "part"), [("user", "users"), ("email", "emails")])
def test_keys_of_an_entity_manager_configuration(entity: str, part: str, config: str) -> None:
    items = "\n".join(json.dumps(vector["item"], ensure_ascii=False) for vector in VECTORS[part])
    outcome = shardweave("keys", "--entity", entity, "--entity-manager", config, given=items)
    assert outcome.code == 0
    assert outcome.lines == [vector["record"] for vector in VECTORS[part]]
    assert outcome.output.splitlines()[0] == json.dumps(VECTORS[part][0]["record"], ensure_ascii=False)


def test_a_record_need_not_have_more_than_its_keys_need() -> None:
    outcome = shardweave("keys", "--entity", "user", given='{"userId": "u"}\n\n{"user_id": "v", "phone": null}\n')
    assert [line["hashKey"] for line in outcome.lines] == ["user!2", "user!0"]
    assert outcome.lines[0]["firstNameRangeKey"] == "firstNameCanonical |lastNameCanonical |created"
    assert "phone" not in outcome.lines[1]


def test_what_the_service_derives_is_derived_here_too() -> None:
    outcome = shardweave("keys", "--entity", "user", given='{"userId": "u", "firstName": "José"}')
    assert outcome.lines[0]["firstNameCanonical"] == "jose"
    assert "José" in outcome.output
    email = shardweave("keys", "--entity", "email", given='{"email": "A@B.C", "userId": "u"}')
    assert email.lines[0]["rangeKey"] == "email#a@b.c"


def test_a_record_may_lie_in_the_future() -> None:
    later = json.dumps(IN_MILLISECONDS | {"created": NOW + 10**10})
    assert shardweave("keys", "--entity", "user", given=later).code == 0


REFUSED: list[tuple[bytes, str]] = [
    (b"{", "it is not JSON: .* at character 2"),
    (b"[1]", "must be a JSON object"),
    (b'{"userId": "\xff"}', "it is not UTF-8 at byte 13"),
    (b'{"userId": "a", "userId": "b"}', "a name stands twice"),
    (b'{"userId": "a", "user_id": "b"}', "user_id: it is given twice"),
    (b'{"userId": "a", "created": NaN}', "NaN is not a JSON number"),
    (b'{"userId": "a", "created": ' + b"9" * 5000 + b"}", "too many digits"),
    (b'{"userId": "a", "created": 1e99999999999999999999}', "too many digits"),
    (b'{"userId": ' + b"[" * 100_000 + b"}", "nested too deeply|it is not JSON"),
    (b"{}", "userId: the property decides the shard and is missing"),
    (b'{"userId": null}', "userId: Input should be a valid string"),
    (b'{"userId": 5, "phone": 6, "x": 7}', "userId: .*; phone: .*; x: the entity 'user' has no such property"),
    (b'{"userId": "a", "hashKey": "user!1"}', "hashKey: the entity 'user' has no such property"),
    (b'{"userId": "a", "created": 1726880933}', "created: .* in seconds, milliseconds are due"),
    (b'{"userId": "a", "created": 1.5}', "created: "),
    (b'{"userId": "a", "phone": ""}', "phone: "),
    (b'{"userId": "\\ud800"}', "userId: "),
    (b'{"userId": "a", "lastName": "' + "김".encode() * 150 + b'", "firstName": "' + "김".encode() * 199 + b'"}',
     "Canonical: the key .*RangeKey would have .* bytes, 1024 are possible"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_a_bad_line_is_named_and_written_not_at_all(line: bytes, reason: str) -> None:
    good = b'{"userId": "good"}'
    outcome = shardweave("keys", "--entity", "user", given=b"\n".join([good, b"", line, good]))
    assert outcome.code == 1
    assert [each["userId"] for each in outcome.lines] == ["good", "good"]
    (error,) = outcome.errors.splitlines()
    assert re.search(f"^line 3: .*({reason})", error)


def test_the_article_format_refuses_what_it_can_t_write() -> None:
    outcome = shardweave("keys", "--entity", "user", "--key-format", "article", given='{"userId": "a|b"}')
    assert outcome.code == 1
    assert outcome.errors == (
        "line 1: userId: a value holds a delimiter, which the key format 'article' can't escape. "
        "Fix: use the key format 'ordered', or remove the character\n"
    )


def test_lines_are_written_as_they_are_read() -> None:
    written = io.BytesIO()

    class Source(io.BytesIO):
        """Each line but the first is read when those before it were written."""

        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            seen.append(written.getvalue().count(b"\n"))
            return line

    seen: list[int] = []
    source = Source(b'{"userId": "a"}\n' * 5)
    assert main(["keys", "--entity", "user"], Streams(source, written, io.StringIO())) == 0
    assert seen == [0, 1, 2, 3, 4, 5]


# -- space ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "vector", VECTORS["hashKeySpaces"], ids=lambda vector: f"{vector['hashKey']} {len(vector['space'])}"
)
def test_space_of_an_entity_manager_configuration(vector: dict[str, Any], config: str) -> None:
    arguments = ["space", "--entity", vector["entity"], "--entity-manager", config, "--hash-key", vector["hashKey"]]
    arguments += ["--item", json.dumps(vector["item"])]
    arguments += ["--from", str(vector["timestampFrom"]), "--to", str(vector["timestampTo"])]
    outcome = shardweave(*arguments)
    assert outcome.code == 0
    assert json.loads(outcome.output) == vector["space"]


def test_space_without_an_end_reads_an_hour_ahead(config: str) -> None:
    begins = CONFIG["entities"]["user"]["shardBumps"][1]["timestamp"]
    space = ["space", "--entity", "user", "--entity-manager", config, "--hash-key", "hashKey"]
    assert len(shardweave(*space, now=begins - READ_AHEAD_MS - 1).lines[0]) == 1 + 4
    assert len(shardweave(*space, now=begins - READ_AHEAD_MS).lines[0]) == 1 + 4 + 16


def test_space_by_either_name_in_either_format() -> None:
    space = ["space", "--entity", "user", "--item", '{"beneficiaryId": "b"}']
    for name in ("userBeneficiaryHashKey", "user_beneficiary_hash_key"):
        expected = [f"user!{shard} |beneficiaryId#b" for shard in range(4)]
        assert shardweave(*space, "--hash-key", name).lines == [expected]
    article = shardweave(*space, "--hash-key", "userBeneficiaryHashKey", "--key-format", "article")
    assert article.lines == [[f"user!{shard}|beneficiaryId#b" for shard in range(4)]]
    for name in ("hashKey", "hash_key"):
        assert shardweave(*space, "--hash-key", name).lines == [["user!0", "user!1", "user!2", "user!3"]]
    one = shardweave(
        "space", "--entity", "user", "--hash-key", "hashKey", "--item", '{"user_id": "wf5yU_5f63gqauSOLpP5O"}'
    )
    assert one.lines == [["user!1"]]


# -- plan and size ----------------------------------------------------------------------------------------------------


def test_a_plan_for_three_billion_records() -> None:
    outcome = shardweave("plan", "--records", "3e9", "--bytes", "512")
    assert outcome.code == 0
    assert json.loads(outcome.output) == {
        "records": 3_000_000_000,
        "bytes": 512,
        "storedBytes": 1_536_000_000_000,
        "partitions": 154,
        "shards": 256,
        "charBits": 4,
        "chars": 2,
        "recordsPerShard": 11_718_750,
        "bytesPerShard": 6_000_000_000,
        "perShard": {"writes": 1000, "transactionalWrites": 500, "reads": 6000, "consistentReads": 3000},
        "total": {"writes": 256_000, "transactionalWrites": 128_000, "reads": 1_536_000, "consistentReads": 768_000},
    }


def test_larger_records_cost_more_units() -> None:
    figures = plan(1, 1025)
    assert (figures["shards"], figures["chars"]) == (1, 0)
    assert figures["perShard"] == {"writes": 500, "transactionalWrites": 250, "reads": 6000, "consistentReads": 3000}
    assert plan(1, 4097)["perShard"]["consistentReads"] == 1500


@given(st.one_of(st.integers(1, 300), st.integers(1, 800_000)))
def test_the_planned_space_is_the_smallest_with_room(partitions: int) -> None:
    space = shard_space(partitions)
    needed = 1 if partitions == 1 else partitions * Decimal("1.2")
    possible = [(2**bits) ** chars for bits in range(1, 6) for chars in range(17)]
    assert space.shards == min(shards for shards in possible if needed <= shards <= MAX_SHARDS)


def test_what_can_t_be_planned() -> None:
    with pytest.raises(ConfigurationError, match="more than 1048576 shards"):
        plan(10**9 * PARTITION_BYTES, 1000)
    assert shardweave("plan", "--records", "1", "--bytes", "409601").code == 2
    for wrong in ("x", "0", "-1", "1.5", "NaN", "1e99"):
        with pytest.raises(SystemExit) as exited:
            shardweave("plan", "--records", wrong, "--bytes", "1")
        assert exited.value.code == 2


def test_the_size_of_a_record() -> None:
    outcome = shardweave(
        "size", "--entity", "user", "--key-format", "article", given=json.dumps(ARTICLE_USER, indent=2)
    )
    assert outcome.code == 0
    sizes = json.loads(outcome.output)
    assert sizes["properties"]["userId"] == len("userId") + 21
    assert sizes["properties"]["created"] == len("created") + 6
    assert sizes["generated"]["hashKey"] == len("hashKey") + len("user!1")
    assert set(sizes["generated"]) == {
        "hashKey", "rangeKey", "userBeneficiaryHashKey", "userHashKey", "firstNameRangeKey", "lastNameRangeKey",
    }  # fmt: skip
    assert sizes["keys"]["rangeKey"] == {"bytes": 28, "limit": 1024, "percent": 2.7}
    assert sizes["total"] == sum(sizes["properties"].values()) + sum(sizes["generated"].values()) == 525
    assert (sizes["limit"], sizes["percent"]) == (409_600, 0.1)
    assert set(sizes["indexes"].values()) == {525}
    assert len(sizes["indexes"]) == 11


def test_a_record_is_measured_also_when_it_is_too_large_and_not_in_indexes_whose_keys_it_lacks() -> None:
    sizes = json.loads(shardweave("size", "--entity", "email", given='{"email": "a@b.c", "userId": "u"}').output)
    assert sizes["indexes"] == {}
    assert shardweave("size", "--entity", "user", given="{}").code == 1
    assert shardweave("size", "--entity", "user", given="").errors.startswith("error: it is not JSON")


def test_the_sizes_of_many_records_are_summed() -> None:
    records = [ARTICLE_USER, ARTICLE_USER | {"phone": "1"}, ARTICLE_USER | {"updated": 1_726_880_934}]
    asked = ("size", "--entity", "user", "--key-format", "article")
    alone = [json.loads(shardweave(*asked, given=json.dumps(each)).output) for each in records]
    outcome = shardweave(*asked, "--lines", given="\n".join(map(json.dumps, records)))
    sums = json.loads(outcome.output)
    assert (outcome.code, sums["records"], sums["largest"]) == (0, 3, max(each["total"] for each in alone))
    assert sums["total"] == sum(each["total"] for each in alone)
    for kind in ("properties", "generated", "indexes"):
        assert sums[kind] == {name: sum(each[kind][name] for each in alone) for name in alone[0][kind]}
    outcome = shardweave(*asked, "--lines", given=f'{json.dumps(ARTICLE_USER)}\n{{\n{{"colour": 1}}\n')
    assert (outcome.code, json.loads(outcome.output)["total"]) == (1, 525)
    assert [line[:8] for line in outcome.errors.splitlines()] == ["line 2: ", "line 3: "]
    assert json.loads(shardweave(*asked, "--lines").output) == {
        "records": 0, "properties": {}, "generated": {}, "indexes": {}, "total": 0, "largest": 0,
    }  # fmt: skip


# -- arguments and exit codes -----------------------------------------------------------------------------------------

WRONG: list[tuple[list[str], str]] = [
    (["keys", "--entity", "usr"], "--entity: there is no entity 'usr'. Fix: use one of user, email"),
    (["keys", "--entity", "user", "--service", "nope"], "service: there is no service 'nope'"),
    (["keys", "--entity", "user", "--entity-manager", "nowhere.json"], "nowhere.json can't be read: No such file"),
    (["keys", "--entity", "user", "--entity-manager", "CONFIG", "--key-format", "article"], "--key-format: the conf"),
    (["keys", "--entity", "user", "--entity-manager", "CONFIG", "--service", "user_service"], "--service: the conf"),
    (["keys", "--entity", "user", "--entity-manager", "BROKEN"], "it is not JSON"),
    (["keys", "--entity", "user", "--entity-manager", "EMPTY"], "entities: Field required"),
    (["space", "--entity", "user", "--hash-key", "phone"], "--hash-key: there is no hash key 'phone'"),
    (["space", "--entity", "user", "--hash-key", "firstNameRangeKey"], "use one of hashKey, userBeneficiaryHashKey"),
    (["space", "--entity", "user", "--hash-key", "userHashKey"], "--item.userId: the property is missing"),
    (["space", "--entity", "user", "--hash-key", "hashKey", "--item", "{"], "--item: it is not JSON"),
    (["space", "--entity", "user", "--hash-key", "hashKey", "--item", '{"x": 1}'], "no such property"),
    (
        ["space", "--entity", "user", "--hash-key", "hashKey", "--from", "2024-01-02", "--to", "1704067200000"],
        "--from: it lies after",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_command_line_or_configuration_ends_with_2(
    arguments: list[str], message: str, config: str, tmp_path: Path
) -> None:
    files = {"CONFIG": config, "BROKEN": str(tmp_path / "broken.json"), "EMPTY": str(tmp_path / "empty.json")}
    Path(files["BROKEN"]).write_text("{,}")
    Path(files["EMPTY"]).write_text("{}")
    outcome = shardweave(*(files.get(argument, argument) for argument in arguments))
    assert (outcome.code, outcome.output) == (2, "")
    assert outcome.errors.startswith("error: ")
    assert message in outcome.errors


@pytest.mark.parametrize(
    "arguments", [[], ["nope"], ["keys"], ["keys", "--entity", "user", "--key-format", "x"], ["load"]]
)
def test_what_argparse_refuses_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        shardweave(*arguments)
    assert exited.value.code == 2
    assert "usage: shardweave" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", *(command.name for command in COMMANDS)])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        shardweave(*filter(None, [command, "--help"]))
    assert exited.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: shardweave {command}".strip() in shown
    assert EXIT_CODES in " ".join(shown.split())
    assert command or all(each.name in shown for each in COMMANDS)


# -- JSON -------------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab é"\\\n'), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_json_comes_back_exactly(value: Any) -> None:
    text = json_text(value)
    assert "\n" not in text
    assert parse_json(text.encode()) == value
    assert json.loads(text, parse_float=Decimal) == value


def test_what_json_has_no_type_for() -> None:
    assert json_text({"raw": b"\xff\x00", "set": {"b", "a"}, "numbers": frozenset({2, 1})}) == (
        '{"raw": "_wA=", "set": ["a", "b"], "numbers": [1, 2]}'
    )
    assert json_text(Decimal("1.50")) == "1.50"
    with pytest.raises(InputError, match="stands twice"):
        parse_json('{"a": {"b": 1, "b": 2}}')
