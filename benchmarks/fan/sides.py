"""`python -m benchmarks.fan.sides NAME URL`: one side, in a process of its own.

Each line of input is a number of pages to read, or `memory`. The answer is a line of JSON: the milliseconds of each
page, the CPU milliseconds of the process for a page, the most bytes that were allocated at once while a page was read
(`memory` only), and the last page's records.
"""

from __future__ import annotations

import heapq
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from benchmarks.fan.records import HASH_NAME, INDEX, LIMIT, RANGE_NAME, SCHEMA, SHARDS, TABLE, THROTTLE
from shardweave.query.sizes import fetch_size

ReadPage = Callable[[], list[str]]
"""The identities of a page's records, in order."""


def ours(url: str, transport: Literal["direct", "botocore"] = "direct") -> ReadPage:
    """The library."""
    from shardweave.query.cursor import CursorKeys
    from shardweave.query.runner import QueryRunner
    from shardweave.query.spec import QuerySpec
    from shardweave.reshard.leased_maps import LeasedMaps
    from shardweave.reshard.phases import Waits
    from shardweave.table.dynamodb import DynamoDBTable

    table = DynamoDBTable(SCHEMA.layout, TABLE, endpoint_url=url, max_pool_connections=THROTTLE, transport=transport)
    keys = CursorKeys("bench", {"bench": b"b" * 32})
    runner = QueryRunner(SCHEMA, table, keys, maps=LeasedMaps(table, Waits()), throttle=THROTTLE)
    spec = QuerySpec("person", {}, INDEX, limit=LIMIT)

    def page() -> list[str]:
        found = runner.run(spec)
        if found.cursor is None or found.stats.requests != SHARDS:
            raise RuntimeError("one read of each shard, and more after them, was expected")
        return [record.person_id for record in found.items]

    return page


def boto3_pool(url: str) -> ReadPage:
    """What is written by hand: the client on a pool of threads, and a merge of what it reads."""
    import boto3
    from boto3.dynamodb.types import TypeDeserializer
    from botocore.config import Config

    client = boto3.client("dynamodb", endpoint_url=url, config=Config(max_pool_connections=THROTTLE))
    deserialize = TypeDeserializer().deserialize
    pool = ThreadPoolExecutor(THROTTLE)
    size = fetch_size(SHARDS, LIMIT + 1)

    def lane(shard: int) -> list[tuple[str, str, dict[str, Any]]]:
        hash_key = f"person!{shard:02x}"
        answer = client.query(
            TableName=TABLE,
            IndexName=INDEX,
            Limit=size,
            KeyConditionExpression="#h = :h",
            ExpressionAttributeNames={"#h": HASH_NAME},
            ExpressionAttributeValues={":h": {"S": hash_key}},
        )
        items = [{name: deserialize(value) for name, value in item.items()} for item in answer["Items"]]
        return [(item[RANGE_NAME], hash_key, item) for item in items]

    def page() -> list[str]:
        lanes = list(pool.map(lane, range(SHARDS)))
        merged = heapq.merge(*lanes, key=lambda record: record[:2])
        return [item["personId"] for (_, _, item), _ in zip(merged, range(LIMIT), strict=False)]

    return page


def ours_over_botocore(url: str) -> ReadPage:
    """The same over botocore's client."""
    return ours(url, "botocore")


SIDES = {"ours": ours, "ours, over botocore": ours_over_botocore, "boto3 on a thread pool": boto3_pool}


def main(name: str, url: str) -> None:
    page = SIDES[name](url)
    for line in sys.stdin:
        asked, most = line.strip(), 0
        if asked == "memory":
            tracemalloc.start()
            records, spent, milliseconds = page(), 0.0, []
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        else:
            milliseconds, began = [], time.process_time()
            for _ in range(int(asked)):
                begun = time.perf_counter()
                records = page()
                milliseconds.append((time.perf_counter() - begun) * 1000)
            spent = (time.process_time() - began) * 1000 / int(asked)
        print(json.dumps({"pages": milliseconds, "cpu": spent, "bytes": most, "records": records}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
