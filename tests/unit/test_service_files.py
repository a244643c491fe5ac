"""A service is named by its name or by its path; nothing else of that name is ever taken for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardweave.errors import ConfigurationError
from shardweave.keys.key_format import ORDERED
from shardweave.service.files import (
    default_service,
    named_service,
    only_service,
    service_file,
    service_names,
    service_text,
)
from shardweave.service.loader import service_schema
from tests.unit.test_service_loader import GOOD


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project's folder, which is the current one."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "cdk.json").write_text("{}")
    monkeypatch.setenv("SHARDWEAVE_PROJECT", str(folder))
    monkeypatch.chdir(folder)
    before, loaded = list(sys.path), set(sys.modules)
    yield folder
    sys.path[:] = before
    for name in set(sys.modules) - loaded:
        del sys.modules[name]


def test_a_module_of_the_project_is_a_service_by_its_name(project: Path) -> None:
    (project / "memos.py").write_text(GOOD)
    assert "memos" in service_names()
    assert [each.token for each in service_schema("memos", ORDERED).entities.values()] == ["note"]
    assert service_file("memos").sources == project / "memos.py"


def test_so_is_a_package_and_all_of_it_is_deployed(project: Path) -> None:
    (project / "memos").mkdir()
    (project / "memos" / "__init__.py").write_text("from .records import schema\n\n# def schema(\n")
    (project / "memos" / "records.py").write_text(GOOD)
    assert "note" in service_schema("memos", ORDERED).entities
    assert service_file("memos").sources == project / "memos"


def test_a_path_names_a_module_anywhere_and_what_stands_beside_it_can_be_imported(
    project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "letters.py").write_text("from stamps import PRICE\n" + GOOD)
    (other / "stamps.py").write_text("PRICE = 5\n")
    path = os.path.relpath(other / "letters.py", project)
    assert (named_service(path), service_text(path)) == ("letters", str(other / "letters.py"))
    assert "note" in service_schema("letters", ORDERED).entities


def test_the_only_service_of_a_project_needs_no_name_and_cdk_json_may_choose(project: Path) -> None:
    (project / "cdk.json").write_text('{"context": {"service": "memos"}}')
    assert default_service() == "memos"


def test_where_none_is_named_and_none_can_be_meant_the_choice_is_said() -> None:
    assert only_service(["memos"]) == "memos"
    assert only_service(["letters", "user_service"]) == "user_service"
    with pytest.raises(ConfigurationError, match=r"several here: letters, memos. Fix: say which, such as letters"):
        only_service(["letters", "memos"])
    with pytest.raises(ConfigurationError, match=r"none here. Fix: `shardweave init NAME` makes one"):
        only_service([])


@pytest.mark.parametrize("name", ["conftest", "test_memos", "memos_test"])
def test_a_file_of_tests_with_a_fixture_named_schema_is_no_service(project: Path, name: str) -> None:
    (project / f"{name}.py").write_text("def schema():\n    return None\n")
    (project / "memos.py").write_text(GOOD)
    assert "memos" in service_names()
    assert name not in service_names()


@pytest.mark.parametrize("name", ["os", "json", "shardweave", "services", "functions", "no such", "", "../x", "class"])
def test_nothing_else_that_python_knows_by_the_name_is_taken_for_a_service(project: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="there is no service"):
        service_file(name)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere.py", "there is no module 'nowhere.py'"),
        ("empty/", "there is no module 'empty/'"),
        ("json.py", "'json' can't name a service"),
        ("my-notes.py", "'my-notes' can't name a service"),
    ],
)
def test_a_path_that_is_no_service_is_refused(project: Path, path: str, message: str) -> None:
    (project / "empty").mkdir()
    for file in ("json.py", "my-notes.py"):
        (project / file).write_text(GOOD)
    with pytest.raises(ConfigurationError, match=message):
        named_service(path)


def test_a_module_that_python_takes_for_it_is_told(project: Path) -> None:
    (project / "pydantic.py").write_text(GOOD)
    with pytest.raises(ConfigurationError, match="Python has another module 'pydantic'"):
        service_schema("pydantic", ORDERED)


def test_a_deployed_function_takes_no_service_but_what_was_deployed_with_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "memos.py").write_text(GOOD)
    assert service_file("memos").path == project / "memos.py"
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "api")
    with pytest.raises(ConfigurationError, match="there is no service 'memos'"):
        service_file("memos")
