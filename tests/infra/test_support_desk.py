"""examples/support_desk: the app of its folder is synthesized, in a copy of the folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.infra.conftest import FLAGS, ROOT
from tests.infra.templates import properties, resources

EXAMPLE = ROOT / "examples" / "support_desk"


def test_the_app_of_its_folder_is_synthesized(tmp_path: Path) -> None:
    project = tmp_path / "support_desk"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(".*", "__pycache__", "cdk.out"))
    variables = {name: value for name, value in os.environ.items() if name != "SHARDWEAVE_PROJECT"}
    chosen = {"stage": "prod", "issuer": "https://login.example.com/", "audience": "desk", "assets": "optional"}
    context = json.dumps({**FLAGS, **json.loads((EXAMPLE / "cdk.json").read_text())["context"], **chosen})
    variables |= {
        "CDK_OUTDIR": str(project / "cdk.out"),
        "CDK_CONTEXT_JSON": json.dumps({**json.loads(context), "aws:cdk:bundling-stacks": []}),
        "PYTHONPATH": str(ROOT / "shared"),
    }
    done = subprocess.run(
        [sys.executable, "app.py"], cwd=project, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    template = json.loads((project / "cdk.out" / "shardweave-support-desk-prod.template.json").read_text())
    table = properties(template, "AWS::DynamoDB::GlobalTable")
    assert table["TableName"] == "shardweave-support-desk-prod"
    assert [each["IndexName"] for each in table["GlobalSecondaryIndexes"]] == ["byState"]
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    (authorizer,) = resources(template, "AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["Properties"]["JwtConfiguration"]["Audience"] == ["desk"]
