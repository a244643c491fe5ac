"""Alarms and one dashboard for operators, each alarm with a fixed threshold.

An alarm's description says what it means and where to look. Alarms notify the topic in the configuration, if there is
one. Missing data is good: most metrics exist only while something happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aws_cdk import Aws, Duration, aws_sns, aws_sqs
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from constructs import Construct

from .api import Api
from .configuration import Configuration
from .doctor import Doctor
from .function import NAMESPACE, Function
from .resharding import Resharding
from .table import Table

FIVE_MINUTES = Duration.minutes(5)
SLOW_MS = 3000
LATE_MS = 15 * 60 * 1000
THROTTLED: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    "TableReadsThrottled": ("ReadThrottleEvents", {}, "reads of the table itself"),
    "TableWritesThrottled": ("WriteThrottleEvents", {}, "writes to the table itself"),
    "QueriesThrottled": ("ThrottledRequests", {"Operation": "Query"}, "queries, most of which read an index"),
    "PutsThrottled": ("ThrottledRequests", {"Operation": "PutItem"}, "puts, each with its writes to the indexes"),
    "TransactionsThrottled": (
        "ThrottledRequests",
        {"Operation": "TransactWriteItems"},
        "transactions, each with its writes to the indexes",
    ),
}
"""Throttled events are counted separately for the table and for each index; throttled requests once, however many of
their parts were refused."""


@dataclass(frozen=True)
class Threshold:
    """An alarm's metric, threshold, number of periods, and meaning."""

    name: str
    metric: cloudwatch.Metric
    above: float
    meaning: str
    times: int = 1


class Monitoring(Construct):
    """The alarms and the dashboard of a deployment. `of_version` are the alarms that speak against a new version of the
    API: their metrics depend on the version, and not on anything that callers can cause."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        configuration: Configuration,
        table: Table,
        api: Api,
        resharding: Resharding,
        doctor: Doctor,
        others: list[Function],
        failures: aws_sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        self._configuration = configuration
        topic = configuration.alarm_topic
        self._action = actions.SnsAction(aws_sns.Topic.from_topic_arn(self, "Topic", topic)) if topic else None
        version_thresholds = list(self._of_version(api))
        thresholds = [
            *version_thresholds,
            *self._of_api(api),
            *self._of_gateway(api),
            *self._of_functions([resharding.function, doctor.function, *others]),
            *self._of_table(table),
            *self._of_stream(resharding, failures),
            Threshold(
                "Faults",
                self.own("Faults", cloudwatch.Stats.MAXIMUM, Duration.days(1)),
                0,
                "The doctor found something that is not as it has to be; its log lists the faults and their fixes.",
            ),
        ]
        alarms = {each.name: self._alarm(each) for each in thresholds}
        self.of_version = [alarms[each.name] for each in version_thresholds]
        self._dashboard(thresholds)

    def own(self, name: str, statistic: str, period: Duration = FIVE_MINUTES) -> cloudwatch.Metric:
        """A metric that a function of this deployment writes."""
        dimensions = {"service": self._configuration.service, "stage": self._configuration.stage}
        return cloudwatch.Metric(
            namespace=NAMESPACE, metric_name=name, dimensions_map=dimensions, statistic=statistic, period=period
        )

    def _of_version(self, api: Api) -> Iterator[Threshold]:
        yield Threshold(
            "ApiErrors",
            api.function.alias.metric_errors(period=FIVE_MINUTES),
            0,
            "The API function failed or ran out of time.",
        )
        yield Threshold(
            "ApiFailures",
            self.own("Failures", cloudwatch.Stats.SUM),
            0,
            "The API answered 5xx for a reason that no caller can bring about; the log has the place of each failure.",
        )

    def _of_api(self, api: Api) -> Iterator[Threshold]:
        alias = api.function.alias
        total = cloudwatch.Stats.SUM
        yield Threshold(
            "ApiSlow",
            alias.metric_duration(period=FIVE_MINUTES, statistic="p99"),
            SLOW_MS,
            "One answer in a hundred takes over three seconds; see throttling, and the lanes of slow queries.",
            times=3,
        )
        yield Threshold(
            "ApiThrottled",
            alias.metric_throttles(period=FIVE_MINUTES),
            0,
            "Lambda refused calls: the account's concurrency is used up.",
        )
        yield Threshold(
            "PartialAnswers",
            self.own("PartialAnswers", total),
            10,
            "Pages were cut short: shards fail or time runs out.",
        )
        yield Threshold(
            "EmptyAnswers",
            self.own("EmptyAnswers", total),
            self._configuration.empty_answers,
            "Far more searches than usual found nothing; has an index lost its records?",
        )

    def _of_gateway(self, api: Api) -> Iterator[Threshold]:
        """Failures that callers see and the function does not."""
        yield Threshold(
            "GatewayFailures",
            api.api.metric_server_error(period=FIVE_MINUTES, statistic=cloudwatch.Stats.SUM),
            0,
            "Callers got 5xx, also where the function did not answer: out of time, or the issuer's keys can't be had.",
        )
        yield Threshold(
            "LimitReached",
            api.refused(FIVE_MINUTES),
            100,
            "Calls were refused with 429: more come in than requestsPerSecond and burst allow.",
            times=3,
        )

    def _of_functions(self, functions: list[Function]) -> Iterator[Threshold]:
        for each in functions:
            yield Threshold(
                f"{each.name.capitalize()}Errors",
                each.alias.metric_errors(period=FIVE_MINUTES),
                0,
                f"The {each.name} failed; its log says where.",
            )

    def _of_table(self, table: Table) -> Iterator[Threshold]:
        yield Threshold(
            "ThrottledAnswers",
            self.own("ThrottledAnswers", cloudwatch.Stats.SUM),
            0,
            "Retries did not get through DynamoDB's throttling; contributor insights name the keys.",
        )
        for name, (kind, dimensions, what) in THROTTLED.items():
            yield Threshold(
                name,
                cloudwatch.Metric(
                    namespace="AWS/DynamoDB",
                    metric_name=kind,
                    dimensions_map={"TableName": table.table.table_name, **dimensions},
                    statistic=cloudwatch.Stats.SUM,
                    period=FIVE_MINUTES,
                ),
                100,
                f"DynamoDB refuses {what}: a partition is too hot. Contributor insights name its keys; more shards may "
                "help.",
                times=3,
            )

    def _of_stream(self, resharding: Resharding, failures: aws_sqs.IQueue) -> Iterator[Threshold]:
        yield Threshold(
            "StreamLate",
            resharding.function.alias.metric("IteratorAge", statistic=cloudwatch.Stats.MAXIMUM, period=FIVE_MINUTES),
            LATE_MS,
            "Changes wait for over a quarter of an hour; the stream keeps them for a day.",
            times=3,
        )
        yield Threshold(
            "DeadLetters",
            failures.metric_approximate_number_of_messages_visible(
                period=FIVE_MINUTES, statistic=cloudwatch.Stats.MAXIMUM
            ),
            0,
            "Something failed for good; each message in the queue says what, and where to read it again.",
        )

        yield Threshold(
            "ReshardProposed",
            self.own("ReshardsProposed", cloudwatch.Stats.MAXIMUM),
            0,
            "A shard has more to do than it may, or one record has; the resharder's log and `reshard status` say why.",
        )

    def _alarm(self, threshold: Threshold) -> cloudwatch.Alarm:
        alarm = threshold.metric.create_alarm(
            self,
            threshold.name,
            alarm_name=f"{self._configuration.stack_name}-{threshold.name}",
            alarm_description=threshold.meaning,
            threshold=threshold.above,
            evaluation_periods=threshold.times,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        if self._action is not None:
            alarm.add_alarm_action(self._action)
            alarm.add_ok_action(self._action)
        return alarm

    def _dashboard(self, thresholds: list[Threshold]) -> None:
        """A graph for every metric that has an alarm, with the threshold as a line."""
        widgets = [
            cloudwatch.GraphWidget(
                title=each.name,
                left=[each.metric],
                left_annotations=[cloudwatch.HorizontalAnnotation(value=each.above, label="alarm")],
                width=8,
                height=5,
            )
            for each in thresholds
        ]
        rows = [list(widgets[start : start + 3]) for start in range(0, len(widgets), 3)]
        # An account's dashboards are shared by all regions.
        name = f"{self._configuration.stack_name}-{Aws.REGION}"
        cloudwatch.Dashboard(self, "Dashboard", dashboard_name=name, widgets=rows)
