"""Pages of users, as DynamoDB answers them: 18 attributes, about 0.7 KB each by DynamoDB's rule for sizes."""

from __future__ import annotations

import json
from typing import Any

TABLES = {"records25": 25, "records3": 3}
"""The server's tables, and how many records a page of each holds."""

INDEX = "firstName"
HASH_NAME, HASH_VALUE = "hashKey", "user!1"
RANGE_NAME, LOW, HIGH = "firstNameRangeKey", "firstNameCanonical#j", "firstNameCanonical#k"
CREATED = 1_726_880_933_000


def typed_user(number: int) -> dict[str, Any]:
    """A stored user in DynamoDB's typed form."""
    name, created = f"williscroft-{number:05d}", str(CREATED + number)
    identity = f"wf5yU5f63gqauSO{number:06d}"
    beneficiary = "JCcwi4vyqwMJdaBwbjLG3"
    return {
        "hashKey": {"S": HASH_VALUE},
        "rangeKey": {"S": f"userId#{identity}"},
        "userBeneficiaryHashKey": {"S": f"{HASH_VALUE} |beneficiaryId#{beneficiary}"},
        "userHashKey": {"S": f"{HASH_VALUE} |userId#{identity}"},
        "firstNameRangeKey": {"S": f"firstNameCanonical#jason |lastNameCanonical#{name} |created#{created}"},
        "lastNameRangeKey": {"S": f"lastNameCanonical#{name} |firstNameCanonical#jason |created#{created}"},
        "userId": {"S": identity},
        "beneficiaryId": {"S": beneficiary},
        "created": {"N": created},
        "updated": {"N": created},
        "rev": {"N": "7"},
        "firstName": {"S": "Jason"},
        "firstNameCanonical": {"S": "jason"},
        "lastName": {"S": name.title()},
        "lastNameCanonical": {"S": name},
        "phone": {"S": "17739999999"},
        "tags": {"L": [{"S": "beneficiary"}, {"S": "newsletter"}, {"S": "beta"}]},
        "settings": {"M": {"theme": {"S": "dark"}, "compact": {"BOOL": True}, "pageSize": {"N": "50"}}},
    }


def page(records: int) -> bytes:
    """The body of the answer: a page with more after it."""
    users = [typed_user(number) for number in range(records)]
    last_key = {name: users[-1][name] for name in (HASH_NAME, "rangeKey", RANGE_NAME)}
    body = {
        "ConsumedCapacity": {"CapacityUnits": 2.5, "TableName": "records"},
        "Count": records,
        "Items": users,
        "LastEvaluatedKey": last_key,
        "ScannedCount": records,
    }
    return json.dumps(body, separators=(",", ":")).encode()
