"""Users with six generated attributes."""

from __future__ import annotations

from typing import Any

from services.user_service import User
from services.user_service import schema as user_schema

SCHEMA = user_schema()
TABLE = "users"
CREATED = 1_726_880_933_000
IDENTITY = "wf5yU_5f63gqauSOLpP5O"


def properties(number: int) -> dict[str, Any]:
    """What is given of a user; the store makes the identity."""
    return {
        "beneficiary_id": "JCcwi4vyqwMJdaBwbjLG3",
        "first_name": f"Jason{number}",
        "last_name": "Williscroft",
        "phone": "+17739999999",
    }


def stored_user() -> dict[str, Any]:
    """A user as it is stored."""
    entity = SCHEMA.entities["user"]
    record = User.model_validate({**properties(7), "user_id": IDENTITY, "created": CREATED, "updated": CREATED})
    return entity.complete({**entity.dump(record), "rev": "r" * 16})
