"""What an operator is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardweave.errors import ConfigurationError
from tests.infra.conftest import ROOT, template_for
from tests.infra.templates import properties, resources

ALL = [
    "ApiErrors",
    "ApiFailures",
    "ApiSlow",
    "ApiThrottled",
    "DeadLetters",
    "DoctorErrors",
    "EmptyAnswers",
    "Faults",
    "GatewayFailures",
    "LimitReached",
    "PartialAnswers",
    "PutsThrottled",
    "QueriesThrottled",
    "ReshardProposed",
    "ResharderErrors",
    "RotatorErrors",
    "StreamLate",
    "TableReadsThrottled",
    "TableWritesThrottled",
    "ThrottledAnswers",
    "TransactionsThrottled",
]
TOPIC = "arn:aws:sns:eu-west-1:123456789012:alarms"


def alarms(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [each["Properties"] for each in resources(template, "AWS::CloudWatch::Alarm").values()]
    return {str(each["AlarmName"]).removeprefix("shardweave-user-service-dev-"): each for each in found}


def test_there_is_an_alarm_for_each_thing_that_can_go_wrong(template: dict[str, Any]) -> None:
    assert sorted(alarms(template)) == ALL


def test_the_guide_says_of_each_alarm_what_to_do_and_what_they_cost(template: dict[str, Any]) -> None:
    guide = (ROOT / "docs" / "operating.md").read_text()
    assert {name for name in alarms(template) if f"`{name}`" not in guide} == set()
    costs = (ROOT / "docs" / "deploy.md").read_text()
    assert f"{len(alarms(template))} alarms, 1 secret (2 with external keys), 1 dashboard" in costs


def test_each_alarm_is_a_plain_threshold_that_says_what_it_means(template: dict[str, Any]) -> None:
    for alarm in alarms(template).values():
        assert "Metrics" not in alarm
        assert alarm["MetricName"]
        assert alarm["Threshold"] >= 0
        assert alarm["TreatMissingData"] == "notBreaching"
        assert len(alarm["AlarmDescription"]) > 20


def test_slowness_is_judged_by_the_slowest_hundredth(template: dict[str, Any]) -> None:
    slow = alarms(template)["ApiSlow"]
    assert (slow["MetricName"], slow["ExtendedStatistic"], slow["Threshold"]) == ("Duration", "p99", 3000)


def test_lateness_of_the_stream_is_judged_where_the_stream_goes(template: dict[str, Any]) -> None:
    late = alarms(template)["StreamLate"]
    assert late["MetricName"] == "IteratorAge"
    assert "Resharder" in json.dumps(late["Dimensions"])


@pytest.mark.parametrize(
    ("name", "operation"),
    [("QueriesThrottled", "Query"), ("PutsThrottled", "PutItem"), ("TransactionsThrottled", "TransactWriteItems")],
)
def test_throttling_of_an_index_is_seen_in_the_requests_that_use_it(
    template: dict[str, Any], name: str, operation: str
) -> None:
    """Events of an index have a dimension of its own, which an alarm on the table's does not see; requests have none,
    and count whatever part of them was refused."""
    alarm = alarms(template)[name]
    assert alarm["MetricName"] == "ThrottledRequests"
    (table,) = resources(template, "AWS::DynamoDB::GlobalTable")
    assert {each["Name"]: each["Value"] for each in alarm["Dimensions"]} == {
        "TableName": {"Ref": table},
        "Operation": operation,
    }


def test_calls_that_the_gateway_refuses_are_counted_from_its_log(template: dict[str, Any]) -> None:
    (found,) = resources(template, "AWS::Logs::MetricFilter").values()
    assert "429" in found["Properties"]["FilterPattern"]
    (metric,) = found["Properties"]["MetricTransformations"]
    alarm = alarms(template)["LimitReached"]
    assert (metric["MetricNamespace"], metric["MetricName"]) == (alarm["Namespace"], alarm["MetricName"])
    assert alarm["MetricName"].endswith("shardweave-user-service-dev")


def test_what_callers_do_does_not_take_a_new_version_back() -> None:
    template = template_for(canary="on")
    group = properties(template, "AWS::CodeDeploy::DeploymentGroup")
    alarms = group["AlarmConfiguration"]["Alarms"]
    named = [name for name in ALL if any(name in json.dumps(each) for each in alarms)]
    assert named == ["ApiErrors", "ApiFailures"]


def test_how_many_empty_answers_are_too_many_can_be_chosen() -> None:
    assert alarms(template_for(emptyAnswers="5"))["EmptyAnswers"]["Threshold"] == 5


def test_alarms_notify_the_topic_when_there_is_one() -> None:
    assert all("AlarmActions" not in alarm for alarm in alarms(template_for()).values())
    notifying = alarms(template_for(alarmTopic=TOPIC)).values()
    assert all(alarm["AlarmActions"] == alarm["OKActions"] == [TOPIC] for alarm in notifying)


def test_what_is_no_topic_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not the ARN"):
        template_for(alarmTopic="alarms")


def test_one_dashboard_shows_everything_that_has_an_alarm(template: dict[str, Any]) -> None:
    body = json.dumps(properties(template, "AWS::CloudWatch::Dashboard")["DashboardBody"])
    assert all(f'\\"title\\":\\"{name}\\"' in body for name in alarms(template))
