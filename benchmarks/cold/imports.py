"""Where the time of a cold start's imports goes: what `python -X importtime` reports, by package."""

from __future__ import annotations

import re
from collections import Counter

_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \| \s*(\S+)")
_GROUPS = {
    "shardweave and the service": ("benchmarks", "functions", "services", "shardweave"),
    "aws-lambda-powertools": ("aws_lambda_powertools", "jmespath"),
    "pydantic": ("annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"),
    "botocore, boto3 and what they need": ("boto3", "botocore", "dateutil", "s3transfer", "six", "urllib3"),
    "cryptography": ("cffi", "cryptography"),
}
OTHERS = "Python's own library"


def by_package(report: str) -> Counter[str]:
    """Milliseconds by package. What importing a module runs (classes that are made, models that are built) counts for
    that module."""
    spent: Counter[str] = Counter()
    for microseconds, module in _LINE.findall(report):
        top = module.partition(".")[0]
        group = next((name for name, tops in _GROUPS.items() if top in tops), OTHERS)
        spent[group] += int(microseconds) / 1000  # type: ignore[assignment]
    return spent
