"""The library of the Explorer's page is what its npm package has, which the lock file pins by its hash."""

from __future__ import annotations

import json

from requirements.explorer_files import HASHES, INTO, hashes, taken
from shardweave.api.explorer.files import FOLDER, page_files
from shardweave.cdk.sources import source_files
from shardweave.database.project import LIBRARY


def test_the_committed_files_are_those_of_the_package() -> None:
    files = taken()
    assert json.loads(HASHES.read_text()) == hashes(files)
    for name, content in files.items():
        assert (INTO / name).read_bytes() == content, name


def test_the_page_is_deployed_with_the_library() -> None:
    deployed = set(source_files((LIBRARY,)))
    assert {FOLDER / name for name in page_files()} <= deployed
    assert INTO / "LICENSE.txt" in deployed
