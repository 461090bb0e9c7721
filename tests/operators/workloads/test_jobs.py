"""Jobs and CronJobs: which Pods and Jobs are due, and how they end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.cronjobs.decide import SCHEDULED, CronError, Times, times
from homeostat.operators.workloads.cronjobs.decide import Decision as CronDecision
from homeostat.operators.workloads.cronjobs.decide import decide as decide_cron
from homeostat.operators.workloads.jobs.counts import FAILURES, INDEX, Deleted
from homeostat.operators.workloads.jobs.decide import Decision, decide
from homeostat.operators.workloads.jobs.indexes import count, format_indexes, overlap, parse_indexes
from homeostat.server.kinds.builtins.checks.schedule import check_schedule
from homeostat.server.kinds.builtins.checks.status import check_status
from tests.operators.workloads.objects import NOW, TEMPLATE, THEN, pod, workload


def job(**spec: Any) -> Workload:
    status = spec.pop("status", {"startTime": THEN})
    return workload("job", status=status, **{"template": TEMPLATE, "parallelism": 2, "completions": 3, **spec})


def ended(name: str, phase: str = "Succeeded", index: int | None = None) -> Pod:
    metadata = {} if index is None else {"annotations": {INDEX: str(index)}}
    return pod(name, phase=phase, ready=False, metadata=metadata)


def reasons(decision: Decision) -> dict[str, str]:
    assert decision.status is not None
    return {each["type"]: each["reason"] for each in decision.status["conditions"]}


@pytest.mark.parametrize(
    ("spec", "pods", "created"),
    [
        ({}, [], 2),
        ({}, [pod("a")], 1),
        ({}, [ended("a"), ended("b")], 1),
        ({"completions": None}, [ended("a"), pod("b")], 0),
        ({"suspend": True}, [], 0),
        ({"parallelism": 0}, [], 0),
    ],
)
def test_as_many_pods_run_as_are_left_to_do(spec: JsonObject, pods: list[Pod], created: int) -> None:
    assert len(decide(job(**spec), pods, now=NOW).create) == created


def test_an_indexed_job_creates_the_missing_indexes() -> None:
    wanted = job(completionMode="Indexed", completions=5, parallelism=3)
    pods = [ended("a", index=1), pod("b", metadata={"annotations": {INDEX: "0"}})]
    found = decide(wanted, pods, now=NOW)
    assert found.create == (2, 3)
    assert found.status is not None
    assert found.status["completedIndexes"] == "1"


def test_a_job_completes_and_is_deleted_after_its_time_to_live() -> None:
    found = decide(job(), [ended("a"), ended("b"), ended("c")], now=NOW)
    assert reasons(found) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
    done = job(ttlSecondsAfterFinished=30, status=found.status)
    waiting = decide(done, [], now=NOW + timedelta(seconds=10))
    assert (waiting.expired, waiting.again_s) == (False, 20.0)
    assert decide(done, [], now=NOW + timedelta(seconds=30)).expired


def test_a_job_fails_at_its_limits() -> None:
    failed = [ended("a", "Failed"), ended("b", "Failed"), pod("c")]
    found = decide(job(backoffLimit=1), failed, now=NOW)
    assert reasons(found) == {"FailureTarget": "BackoffLimitExceeded"}
    assert [each.metadata.name for each in found.delete] == ["c"]
    late = decide(job(activeDeadlineSeconds=60), [pod("a")], now=NOW)
    assert reasons(late) == {"FailureTarget": "DeadlineExceeded"}
    restarts = {"containerStatuses": [{"name": "web", "restartCount": 2}]}
    looping = job(backoffLimit=2, template={"spec": {"restartPolicy": "OnFailure"}})
    assert reasons(decide(looping, [pod("a", status=restarts)], now=NOW)) == {"FailureTarget": "BackoffLimitExceeded"}


def test_a_job_has_failed_when_its_last_pod_is_gone() -> None:
    first = decide(job(activeDeadlineSeconds=60), [pod("a")], now=NOW)
    assert first.status is not None
    assert first.status["failed"] == 1, "a Pod that runs when its Job fails has failed"
    leaving = pod("a", metadata={"deletionTimestamp": THEN})
    waiting = job(activeDeadlineSeconds=60, status=first.status)
    second = decide(waiting, [leaving], tally=first.tally, now=NOW)
    assert second.status is not None
    assert reasons(second) == {"FailureTarget": "DeadlineExceeded"}
    assert (second.status["terminating"], second.status["failed"]) == (1, 1)
    last = decide(job(status=second.status), [], tally=second.tally, now=NOW)
    assert reasons(last) == {"FailureTarget": "DeadlineExceeded", "Failed": "DeadlineExceeded"}
    assert last.events == (("DeadlineExceeded", "Job was active longer than specified deadline"),)


def test_a_pod_whose_deletion_was_refused_counts_as_failed_once() -> None:
    first = decide(job(activeDeadlineSeconds=60), [pod("a"), pod("b")], now=NOW)
    again = decide(job(activeDeadlineSeconds=60), [pod("a"), pod("b")], tally=first.tally, now=NOW)
    assert again.status is not None
    assert ([each.metadata.name for each in again.delete], again.status["failed"]) == (["a", "b"], 2)


def test_an_elastic_job_that_shrinks_below_its_successes_completes() -> None:
    """What it writes is what the server takes, although fewer Pods have succeeded than before."""
    ran = {"startTime": THEN, "completedIndexes": "0-3", "succeeded": 4}
    wanted = job(completionMode="Indexed", completions=3, parallelism=3, status=ran)
    found = decide(wanted, [], now=NOW)
    assert found.status is not None
    assert (found.status["succeeded"], found.status["completedIndexes"]) == (3, "0-2")
    assert reasons(found)["Complete"] == "CompletionsReached"
    old = {"spec": wanted.spec, "status": ran}
    assert check_status("batch", "Job", {**old, "status": found.status}, old) == []
    fixed = {"spec": {**wanted.spec, "parallelism": 2}}
    causes = check_status("batch", "Job", {**fixed, "status": found.status}, {**fixed, "status": ran})
    assert [each.field for each in causes] == ["status.succeeded"]


def exited(name: str, code: int, index: int | None = None, failures: int = 0, **status: Any) -> Pod:
    state = {"terminated": {"exitCode": code}}
    annotations = {} if index is None else {INDEX: str(index), FAILURES: str(failures)}
    containers = [{"name": "web", "ready": False, "state": state}]
    return pod(
        name,
        phase="Failed",
        ready=False,
        metadata={"annotations": annotations},
        status={"containerStatuses": containers, **status},
    )


RULES: list[JsonObject] = [
    {"action": "FailJob", "onExitCodes": {"containerName": "web", "operator": "In", "values": [42]}},
    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1, 42]}},
]


def test_a_job_follows_its_rules_for_failed_pods() -> None:
    ruled = job(podFailurePolicy={"rules": RULES}, backoffLimit=0)
    found = decide(ruled, [exited("a", 42)], now=NOW)
    assert found.status is not None
    assert reasons(found)["Failed"] == "PodFailurePolicy"
    words = "Container web for pod default/a failed with exit code 42 matching FailJob rule at index 0"
    assert found.status["conditions"][0]["message"] == words
    evicted = exited("a", 1, conditions=[{"type": "DisruptionTarget", "status": "True"}])
    ignored = decide(ruled, [evicted], now=NOW)
    assert ignored.tally is not None
    assert (ignored.tally.failed, len(ignored.create)) == (0, 2)
    assert reasons(decide(ruled, [exited("a", 1)], now=NOW))["Failed"] == "BackoffLimitExceeded"


def test_an_index_has_a_limit_of_its_own() -> None:
    limits = {"backoffLimitPerIndex": 1, "backoffLimit": 2**31 - 1, "podFailurePolicy": {"rules": RULES}}
    wanted = job(completionMode="Indexed", completions=3, parallelism=3, **limits)
    later = NOW + timedelta(hours=1)
    first = decide(wanted, [exited("a", 1, 0), exited("b", 3, 1)], now=later)
    assert first.status is not None
    assert first.status["failedIndexes"] == "1"
    assert (first.create, first.failures) == ((0, 2), {0: 1, 1: 1})
    second = decide(wanted, [exited("c", 1, 0, failures=1), exited("b", 3, 1), ended("d", index=2)], now=later)
    assert second.status is not None
    assert reasons(second)["Failed"] == "FailedIndexes"
    assert (second.status["failedIndexes"], second.status["completedIndexes"]) == ("0,1", "2")
    few = job(completionMode="Indexed", completions=3, parallelism=3, maxFailedIndexes=0, **limits)
    assert reasons(decide(few, [exited("b", 3, 1)], now=later))["Failed"] == "MaxFailedIndexesExceeded"


@pytest.mark.parametrize(
    ("rule", "is_met"),
    [
        ({"succeededIndexes": "0,2-3"}, True),
        ({"succeededIndexes": "0-3"}, False),
        ({"succeededIndexes": "1-3", "succeededCount": 2}, True),
        ({"succeededCount": 4}, False),
    ],
)
def test_a_job_succeeds_by_its_policy(rule: JsonObject, is_met: bool) -> None:
    wanted = job(completionMode="Indexed", completions=9, successPolicy={"rules": [{"succeededCount": 9}, rule]})
    found = decide(wanted, [ended(str(index), index=index) for index in (0, 2, 3)], now=NOW)
    expected = {"SuccessCriteriaMet": "SuccessPolicy", "Complete": "SuccessPolicy"} if is_met else {}
    assert reasons(found) == expected


def test_a_pod_that_somebody_deletes_counts_as_failed() -> None:
    leaving = pod("a", metadata={"deletionTimestamp": THEN})
    deleted = Deleted(lost=frozenset({leaving.metadata.uid}))
    found = decide(job(), [leaving], deleted=deleted, now=NOW + timedelta(hours=1))
    assert found.status is not None
    assert (found.status["failed"], found.status["terminating"], len(found.create)) == (1, 1, 2)
    after = decide(job(), [leaving], tally=found.tally, now=NOW + timedelta(hours=1))
    assert after.status is not None
    assert after.status["failed"] == 1
    late = decide(job(), [ended("a")], tally=after.tally, now=NOW + timedelta(hours=1))
    assert late.tally is not None
    assert (late.tally.failed, late.tally.succeeded) == (1, 0), "a Pod is counted once"
    gone = decide(job(), [], deleted=Deleted(gone=(ended("b"),)), now=NOW)
    assert gone.status is not None
    assert gone.status["succeeded"] == 1
    patient = job(podReplacementPolicy="Failed")
    assert len(decide(patient, [leaving], now=NOW).create) == 1


def indexed(name: str, failures: int) -> Pod:
    return pod(name, metadata={"annotations": {INDEX: "0", FAILURES: str(failures)}})


def test_deleted_pods_count_for_the_limit_of_their_index() -> None:
    wanted = job(completionMode="Indexed", completions=1, parallelism=1, backoffLimitPerIndex=1)
    first, second = indexed("a", 0), indexed("b", 1)
    found = decide(wanted, [], deleted=Deleted((first,), frozenset({first.metadata.uid})), now=NOW)
    assert (found.create, found.failures) == ((), {0: 1})
    # Its replacement comes after the back-off.
    again = decide(wanted, [], tally=found.tally, now=NOW + timedelta(seconds=10))
    assert (again.create, again.failures) == ((0,), {0: 1})
    deleted = Deleted((second,), frozenset({second.metadata.uid}))
    last = decide(wanted, [], tally=again.tally, deleted=deleted, now=NOW)
    assert last.status is not None
    assert (last.create, last.status["failedIndexes"]) == ((), "0")


def test_a_failure_delays_new_pods_when_its_pod_is_gone() -> None:
    failed = pod("a", phase="Failed", ready=False, since="2026-11-17T11:59:55Z")
    found = decide(job(completions=1), [failed], now=NOW)
    assert not decide(job(completions=1), [], tally=found.tally, now=NOW).create


@pytest.mark.parametrize(
    ("some", "others", "both"),
    [
        ("0-9", "2,4-5,9-12", "2,4-5,9"),
        ("0,2,4", "1,3,5", ""),
        ("0-3,7-9", "2-8", "2,3,7,8"),
        ("", "1", ""),
    ],
)
def test_the_overlap_of_indexes(some: str, others: str, both: str) -> None:
    first, second = parse_indexes(some, 99), parse_indexes(others, 99)
    assert overlap(first, second) == overlap(second, first) == parse_indexes(both, 99)


class Counted(list[tuple[int, int]]):
    reads = 0

    def __getitem__(self, at: Any) -> Any:
        self.reads += 1
        return super().__getitem__(at)


def test_the_overlap_of_many_indexes_takes_steps_in_proportion() -> None:
    spans = Counted((each, each) for each in range(0, 20_000, 2))
    assert overlap(spans, spans) == list(spans)
    assert spans.reads == 4 * 10_000 - 2


def test_a_new_pod_waits_after_a_failed_one() -> None:
    failed = pod("a", phase="Failed", ready=False, since="2026-11-17T11:59:55Z")
    found = decide(job(completions=1), [failed], now=NOW)
    assert not found.create
    assert found.again_s == pytest.approx(5.05)
    assert decide(job(completions=1), [failed], now=NOW + timedelta(seconds=6)).create


def test_a_success_ends_the_delay_after_failures() -> None:
    def at(moment: str, name: str, phase: str) -> Pod:
        return pod(name, phase=phase, ready=False, since=f"2026-11-17T11:{moment}Z")

    first = decide(job(completions=5), [at("59:58", "a", "Failed")], now=NOW)
    assert not first.create
    both = [at("59:58", "a", "Failed"), at("59:59", "b", "Succeeded")]
    assert decide(job(completions=5), both, tally=first.tally, now=NOW).create
    again = decide(job(completions=5), [*both, at("59:59", "c", "Failed")], tally=first.tally, now=NOW)
    assert again.create, "it did not fail after the success"


def test_pods_whose_failure_is_ignored_are_replaced_with_a_delay() -> None:
    ignoring = job(podFailurePolicy={"rules": [{**RULES[0], "action": "Ignore"}]}, backoffLimit=0)
    found = decide(ignoring, [exited("a", 42)], now=datetime.fromisoformat(THEN))
    assert found.tally is not None
    assert (found.create, found.tally.failed) == ((), 0)
    later = decide(ignoring, [exited("a", 42)], tally=found.tally, now=NOW)
    assert len(later.create) == 2


def test_an_index_that_failed_does_not_delay_others() -> None:
    limits = {"backoffLimitPerIndex": 3, "backoffLimit": 2**31 - 1}
    wanted = job(completionMode="Indexed", completions=3, parallelism=2, **limits)
    failed = exited("a", 1, 0)
    first = decide(wanted, [failed], now=datetime.fromisoformat(THEN))
    assert first.create == (1,)
    assert first.status is not None
    running_one = pod("b", metadata={"annotations": {INDEX: "1"}})
    waiting = decide(wanted, [failed, running_one], tally=first.tally, now=datetime.fromisoformat(THEN))
    assert not waiting.create
    assert waiting.again_s == pytest.approx(10.05)
    assert decide(wanted, [failed, running_one], tally=waiting.tally, now=NOW).create == (0,)


def test_an_indexed_job_that_shrinks_loses_its_last_indexes() -> None:
    def at(index: str, since: str = THEN) -> Pod:
        return pod(f"p-{index}-{since}", since=since, metadata={"annotations": {INDEX: index}})

    def deleted(parallelism: int, *pods: Pod) -> list[str]:
        wanted = job(completionMode="Indexed", completions=2, parallelism=parallelism)
        return [each.metadata.annotations[INDEX] for each in decide(wanted, pods, now=NOW).delete]

    assert sorted(deleted(2, at("3"), at("1"), at("2"), at("0"))) == ["2", "3"]
    assert deleted(1, at("0"), at("1", since="2026-11-17T11:59:30Z")) == ["1"], "the youngest"
    twice = decide(job(completionMode="Indexed", completions=2), [at("0"), at("0", since=format_time(NOW))], now=NOW)
    assert [each.metadata.name for each in twice.delete] == [f"p-0-{format_time(NOW)}"]
    assert not twice.create


def test_a_suspended_job_deletes_its_pods_and_a_resumed_one_starts_again() -> None:
    found = decide(job(suspend=True), [pod("a")], now=NOW)
    assert len(found.delete) == 1
    assert reasons(found) == {"Suspended": "JobSuspended"}
    assert found.status is not None
    assert "startTime" not in found.status, "it stays until the Job goes on"
    resumed = decide(job(status=found.status), [], now=NOW)
    assert reasons(resumed) == {"Suspended": "JobResumed"}
    assert resumed.status is not None
    assert resumed.status["startTime"] == format_time(NOW)


def test_an_unchanged_status_is_not_written() -> None:
    first = decide(job(), [pod("a"), pod("b")], now=NOW)
    assert decide(job(status=first.status), [pod("a"), pod("b")], now=NOW).status is None


def test_indexes_are_written_as_ranges() -> None:
    spans = [(0, 0), (2, 4), (6, 7)]
    assert format_indexes(spans) == "0,2-4,6,7"
    assert parse_indexes("6,7,0,2-4,3", 8) == spans
    assert parse_indexes("0,2-4,6,7,-,1-,x,²", 4) == [(0, 0), (2, 3)]


def test_a_huge_indexed_job_creates_500_pods_at_once() -> None:
    status = {"startTime": THEN, "completedIndexes": "0-999999999"}
    huge = job(completionMode="Indexed", completions=2_000_000_000, parallelism=100_000, status=status)
    found = decide(huge, [ended("a", index=1_000_000_001)], now=NOW)
    assert found.create[:2] == (1_000_000_000, 1_000_000_002)
    assert len(found.create) == 500
    assert found.status is not None
    assert found.status["succeeded"] == count([(0, 1_000_000_000)])


def test_a_finished_pod_stays_counted_when_it_is_deleted() -> None:
    first = decide(job(completions=3), [ended("a"), ended("x", "Failed")], now=NOW)
    status = first.status
    assert status is not None
    second = decide(job(status=status), [ended("b"), ended("y", "Failed")], tally=first.tally, now=NOW)
    assert second.status is not None
    assert (second.status["succeeded"], second.status["failed"]) == (2, 2)
    again = decide(job(status=second.status), [ended("b"), ended("y", "Failed")], tally=second.tally, now=NOW)
    assert again.status is None
    last = decide(job(status=second.status), [ended("c")], tally=again.tally, now=NOW)
    assert reasons(last)["Complete"] == "CompletionsReached"
    started_anew = decide(job(status=second.status), [ended("b")], now=NOW)
    assert started_anew.status is None


def cron(last: datetime | None = None, *, active: tuple[str, ...] = (), **spec: Any) -> Workload:
    status: JsonObject = {"lastScheduleTime": format_time(last)} if last else {}
    status["active"] = [{"name": each, "uid": f"uid-{each}"} for each in active]
    created = {"creationTimestamp": "2026-11-17T11:30:00Z"}
    template = {"spec": {"template": TEMPLATE}}
    wanted = {"schedule": "*/10 * * * *", "jobTemplate": template, **spec}
    return workload("tick", status=status, metadata=created, **wanted)


def running(name: str) -> Workload:
    return workload(name)


def finished(name: str, kind: str = "Complete") -> Workload:
    return workload(name, status={"conditions": [{"type": kind, "status": "True"}], "startTime": name})


def deciding(obj: Workload, *jobs: Workload, now: datetime = NOW) -> CronDecision:
    return decide_cron(obj, jobs, now)


def names(jobs: tuple[Workload, ...]) -> tuple[str, ...]:
    return tuple(each.metadata.name for each in jobs)


def test_a_job_is_created_for_the_last_missed_time_alone() -> None:
    found = deciding(cron(), now=NOW + timedelta(seconds=5))
    assert found.create is not None
    assert found.create["metadata"]["name"] == f"tick-{int(NOW.timestamp()) // 60}"
    assert found.status == {"active": [], "lastScheduleTime": format_time(NOW)}
    assert found.again_s == pytest.approx(595.05)
    assert deciding(cron(NOW), now=NOW + timedelta(seconds=5)).create is None


def test_a_time_that_was_missed_by_more_than_the_deadline_is_skipped() -> None:
    late = NOW + timedelta(seconds=30)
    assert deciding(cron(startingDeadlineSeconds=20), now=late).create is None
    assert deciding(cron(startingDeadlineSeconds=40), now=late).create is not None


@pytest.mark.parametrize(
    ("policy", "creates", "deleted"), [("Allow", True, ()), ("Forbid", False, ()), ("Replace", True, ("old",))]
)
def test_the_concurrency_policy_decides_what_happens_to_a_running_job(
    policy: str, creates: bool, deleted: tuple[str, ...]
) -> None:
    found = deciding(cron(active=("old",), concurrencyPolicy=policy), running("old"))
    assert (found.create is not None) == creates
    assert names(found.delete) == deleted


@pytest.mark.parametrize("reference", [{"name": "of-somebody-else"}, {}], ids=["foreign", "no name"])
def test_a_job_is_replaced_by_its_uid_whatever_the_status_calls_it(reference: JsonObject) -> None:
    replacing = cron(concurrencyPolicy="Replace")
    replacing.status["active"] = [{**reference, "uid": "uid-old"}]
    assert names(deciding(replacing, running("old")).delete) == ("old",)


def test_a_job_that_somebody_started_does_not_block_a_cron_job() -> None:
    """As by `kubectl create job --from`."""
    found = deciding(cron(active=("gone", "done"), concurrencyPolicy="Forbid"), running("manual"), finished("done"))
    assert found.create is not None
    assert not found.delete
    assert [each[1:] for each in found.events] == [
        ("MissingJob", "Active job went missing: gone"),
        ("SawCompletedJob", "Saw completed job: done, condition: Complete"),
        ("UnexpectedJob", "Saw a job that the controller did not create or forgot: manual"),
    ]
    assert found.status is not None
    assert found.status["active"] == []


def test_the_scheduled_time_of_a_job_is_in_the_zone_of_its_cron_job() -> None:
    def scheduled(**spec: Any) -> str:
        created = deciding(cron(**spec)).create
        assert created is not None
        return str(created["metadata"]["annotations"][SCHEDULED])

    assert scheduled(timeZone="Asia/Tokyo") == "2026-11-17T21:00:00+09:00"
    assert scheduled(timeZone="Europe/London") == scheduled() == "2026-11-17T12:00:00Z"


def test_the_oldest_jobs_beyond_the_limits_are_deleted() -> None:
    jobs = [finished(f"good-{number}") for number in range(5)] + [
        finished("bad-0", "Failed"),
        finished("bad-1", "Failed"),
    ]
    found = deciding(cron(NOW, successfulJobsHistoryLimit=2), *jobs)
    assert names(found.delete) == ("good-0", "good-1", "good-2", "bad-0")


def test_a_suspended_cron_job_creates_nothing() -> None:
    found = deciding(cron(suspend=True))
    assert found.create is None
    assert found.again_s is None


def test_after_a_long_stop_the_last_time_counts() -> None:
    each_minute = cron(NOW - timedelta(days=30), schedule="* * * * *")
    late = NOW + timedelta(seconds=1)
    assert times(each_minute, late) == Times(NOW, NOW + timedelta(minutes=1), is_many=True)
    assert [each[1] for each in deciding(each_minute, now=late).events] == ["TooManyMissedTimes"]
    assert times(cron(NOW - timedelta(days=30), schedule="@every 1m"), late).is_many


@pytest.mark.parametrize(
    ("schedule", "due_s", "following_s"),
    [
        ("0 12 ? * ?", 0, 86_400),
        ("0 0 31 2 *", None, None),
        ("@every 25m", -300, 1200),
        ("@every 20m30s", -570, 660),
        ("@every 2h", None, 5400),
        ("@every 10ms", 1, 2),
    ],
)
def test_every_schedule_that_the_server_accepts_is_kept(
    schedule: str, due_s: int | None, following_s: int | None
) -> None:
    """The CronJob was created half an hour ago."""

    def at(seconds: int | None) -> datetime | None:
        return None if seconds is None else NOW + timedelta(seconds=seconds)

    check_schedule(schedule)
    assert times(cron(schedule=schedule), NOW + timedelta(seconds=1))[:2] == (at(due_s), at(following_s))


def test_a_period_continues_from_its_last_time_and_keeps_to_the_deadline() -> None:
    last, late = NOW - timedelta(minutes=61), NOW + timedelta(seconds=1)
    assert times(cron(last, schedule="@every 1h"), late)[0] == last + timedelta(hours=1)
    strict = cron(last, schedule="@every 1h", startingDeadlineSeconds=30)
    assert times(strict, late) == Times(None, last + timedelta(hours=2))
    assert times(cron(startingDeadlineSeconds=2**62), late)[0] == NOW


def test_a_schedule_without_a_further_time_creates_nothing() -> None:
    found = deciding(cron(schedule="0 0 31 2 *"))
    assert (found.create, found.again_s) == (None, None)


def test_an_invalid_schedule_is_an_error() -> None:
    for wrong in (cron(schedule="often"), cron(timeZone="Mars/Phobos")):
        with pytest.raises(CronError, match="unparseable schedule"):
            times(wrong, NOW)
