"""Outlets of which members of their addresses are the keys."""

from __future__ import annotations

import json
import sys

from client import Client, Problem

client = Client(sys.argv[1])
said: dict[str, object] = {}

# Outlets open, in two regions.
for code, number in (("03", 2), ("03", 1), ("46", 1)):
    client.outlets.create({"number": number, "address": {"country": "no", "region": {"code": code}, "street": "Quay"}})
found = client.outlets.get("no", "03", 1)
said["street"] = None if found is None else found.record["address"]["street"]
region = client.outlets.every(address_country="no", address_region_code="03").page()
said["region"] = [each["number"] for each in region.items]
said["country"] = [
    [each["address"]["region"]["code"], each["number"]]
    for each in client.outlets.by_country(address_country="no", limit=2)
]

# What places an outlet stays; the rest of its address may change.
closed = client.outlets.update(
    "no", "03", 1, {"open": False, "address": {"country": "no", "region": {"code": "03"}, "street": "Pier"}}
)
said["closed"] = [closed.record["open"], closed.record["address"]["street"]]
try:
    client.outlets.update("no", "03", 1, {"address": {"country": "se", "region": {"code": "03"}, "street": "Pier"}})
except Problem as problem:
    said["moved"] = [problem.code, problem.status]
client.outlets.delete("no", "03", 1)
said["gone"] = client.outlets.get("no", "03", 1)
print(json.dumps(said))
