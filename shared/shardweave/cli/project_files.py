"""What a project of one's own begins with: its files, for a service's name. Pure, but for the CDK's recommended flags,
which come from the library's own `cdk.json`.
"""

from __future__ import annotations

import json

from ..database.project import CDK_FILE, brought

SERVICE = '''"""The service `{service}`: served by `shardweave serve`, tested by `shardweave test`."""

from __future__ import annotations

from shardweave import (
    ORDERED,
    Entity,
    HashKey,
    Index,
    KeyFormat,
    RangeKey,
    Schema,
    ShardBump,
    Timestamp,
    nanoid,
    timestamp_property,
    unique_property,
)


class {model}(Entity, token="{token}", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """One of the {service}. Four shards from the beginning."""

    {property}_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    owner_id: str
    state: str = "open"

    owner_hash_key = HashKey("owner_id")
    state_range_key = RangeKey("state", "created")


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    by_owner = Index("ownerState", hash_key="owner_hash_key", range_key="state_range_key")
    created = Index("created", hash_key="hash_key", range_key="created")
    return Schema([{model}], [by_owner, created], key_format=key_format)
'''

TEST = '''"""What the service promises."""

from __future__ import annotations

from shardweave import Database
from {service} import {model}


def test_an_owner_finds_what_is_open(database: Database) -> None:
    kept = database.create({model}(owner_id="ann"))
    database.create({model}(owner_id="ann", state="done"))
    database.create({model}(owner_id="bob"))
    page = database.query({model}, owner_id="ann", state="open")
    assert list(page.items) == [kept]
'''

FIXTURES = '''"""What tests may take: a fresh `database`, its `clock`, and a `client` of the service's routes."""

from __future__ import annotations

from types import ModuleType

import pytest

import {service}
from shardweave import Schema

pytest_plugins = ["shardweave.testing"]
collect_ignore = ["cdk.out"]


@pytest.fixture
def schema() -> Schema:
    return {service}.schema()


@pytest.fixture
def service() -> ModuleType:
    return {service}
'''

APP = '''"""The CDK app: what is provisioned for the service that `cdk.json` names."""

from __future__ import annotations

from shardweave.cdk import app

if __name__ == "__main__":
    app.main()
'''

README = """# {service}

```sh
shardweave serve   # the API on http://127.0.0.1:8123 (docs at /docs)
shardweave test    # the tests
```

Both come with `pip install 'shardweave[local]'`. The service is `{service}.py`; what it declares is what the API has.

With `pip install 'shardweave[cdk]'` it can be deployed:

```sh
shardweave synth           # the CloudFormation template, without an account
shardweave deploy-local    # to an emulator on this machine
shardweave deploy --stage prod -c issuer=https://login.example.com/ -c audience={service}
```

`requirements.txt` pins what it was made with. `manifests/`, once something is deployed, is to be committed.
"""

IGNORED = """.data/
.tools/
.venv/
cdk.out/
__pycache__/
.pytest_cache/
"""


_OTHERWISE = {
    "axes": "axis",
    "caches": "cache",
    "cookies": "cookie",
    "movies": "movie",
    "news": "news",
    "people": "person",
    "series": "series",
    "species": "species",
}
"""Words whose ends tell something else."""


def project_files(service: str) -> dict[str, str]:
    """The content of each file, by its name."""
    words = _singular(service).split("_")
    model = "".join(word.capitalize() for word in words)
    names = {
        "service": service,
        "model": model,
        "token": model[:1].lower() + model[1:],
        "property": "_".join(words),
    }
    return {
        f"{service}.py": SERVICE.format(**names),
        f"test_{service}.py": TEST.format(**names),
        "conftest.py": FIXTURES.format(**names),
        "app.py": APP,
        CDK_FILE: _cdk_file(service),
        "README.md": README.format(**names),
        ".gitignore": IGNORED,
    }


def _singular(service: str) -> str:
    """The service's name with its last word in the singular, as far as its end tells."""
    before, underscore, word = service.rpartition("_")
    return before + underscore + _of_one(word)


def _of_one(word: str) -> str:
    if word in _OTHERWISE:
        return _OTHERWISE[word]
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zzes")) else word[:-1]


def _cdk_file(service: str) -> str:
    own = json.loads(brought(CDK_FILE).read_text(encoding="utf-8"))
    flags = {name: value for name, value in own["context"].items() if name.startswith("@aws-cdk")}
    made = {**own, "app": "python app.py", "context": {"service": service, **flags}}
    return json.dumps(made, indent=2) + "\n"
