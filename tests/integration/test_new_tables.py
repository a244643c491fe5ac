"""A new table needs no command: its lookups are read from the beginning, those of partitioned entities too."""

from __future__ import annotations

import json
import time
from pathlib import Path
from uuid import uuid4

from shardweave.access.tokens import encode_token
from shardweave.database.data_folder import DataFolder
from tests.integration.local_server import LocalServer


def test_a_lookup_of_a_new_folder_is_read_before_and_after_the_first_write(tmp_path: Path) -> None:
    data, tenant = tmp_path / "data", str(uuid4())
    server = LocalServer.start(data, "--service", "issue_tracker", "--empty")
    try:
        token = encode_token({"tenant": tenant}, DataFolder(data).token_secret(), now=int(time.time()), seconds=36_000)
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

        def numbered(project: str) -> list[int]:
            answer = server.request("GET", f"/v1/issues?lookup=num&projectId={project}&num=1", headers=headers)
            assert answer.status == 200, answer.body
            return [issue["num"] for issue in answer.json["items"]]

        assert numbered(str(uuid4())) == []
        for path, document in (("/v1/tenants", {"name": "Acme"}), ("/v1/projects", {"name": "Bridge"})):
            made = server.request("POST", path, json.dumps(document).encode(), headers)
            assert made.status == 201, made.body
        issue = {"projectId": made.json["projectId"], "title": "Paint"}
        assert server.request("POST", "/v1/issues", json.dumps(issue).encode(), headers).status == 201
        assert numbered(made.json["projectId"]) == [1]
    finally:
        assert server.stop() == 0
