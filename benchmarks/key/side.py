"""Builds the keys of the golden users in one key format, as often as each line of standard input says."""

from __future__ import annotations

import json
import sys
import time

from services.user_service import schema as user_schema
from shardweave.keys.key_format import key_format
from shardweave.schema.schema import Schema


def main(path: str, format_name: str) -> None:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        golden = json.load(file)
    if format_name == "entity_manager":
        entity = Schema.from_entity_manager(golden["config"]).entities["user"]
    else:
        entity = user_schema(key_format(format_name)).entities["user"]
    users = [user["item"] for user in golden["users"]]
    shard_map, build = entity.shard_map, entity.keys.build
    for line in sys.stdin:
        begun = time.thread_time()
        for _ in range(int(line)):
            for user in users:
                last = {**user, **build(user, shard_map)}
        seconds = time.thread_time() - begun
        print(json.dumps({"seconds": seconds, "last": last}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
