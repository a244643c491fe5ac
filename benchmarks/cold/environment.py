"""What a function finds around it: the layer as it is deployed, made for this machine's Python, and nothing else."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shardweave.cdk.layer_packages import PLATFORMS
from shardweave.database.project import project_folder

COMMAND = (str(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"), "-S", "-P", "-m")
"""How a module is started: by the interpreter without packages of its own."""


@contextmanager
def layer() -> Iterator[Path]:
    """The layer's folder, until the context ends. Its modules are compiled, as they are where the Python that a layer
    is for is at hand when it is made."""
    with tempfile.TemporaryDirectory() as folder:
        PLATFORMS["host"].make_layer(Path(folder), "user_service")
        yield Path(folder) / "python"


def variables(packages: Path, account_url: str) -> dict[str, str]:
    """The environment variables of a function's process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))}
    own = {
        "AWS_ENDPOINT_URL": account_url,
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "SERVICE": "user_service",
        "STAGE": "bench",
        "TABLE_NAME": "users",
        "CURSOR_KEYS_SECRET": "cursor-keys",
        "EXTERNAL_KEYS_SECRET": "external-keys",
        "PYTHONPATH": f"{packages}:{project_folder()}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return kept | own
