"""The groups of conformance cases, and the tests that state them: none of them goes without being missed here.

Groups that speak of objects have tests that run through a plane and through a real kube-apiserver.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
HERE = "operators/policy"
SCORE, LIVE, CHANGES = f"{HERE}/engine/test_score.py", f"{HERE}/test_live.py", f"{HERE}/test_live_changes.py"
PLANS, ENFORCEMENT = f"{HERE}/enforcement/test_plan.py", f"{HERE}/test_live_enforcement.py"
ADMISSION, SERVED = f"{HERE}/admission/test_review.py", "web/admission/test_api.py"
DEPLOY, ROLES = "cli/policy/test_deploy.py", "cli/policy/test_roles.py"
SCORED = ((SCORE, "test_a_set_of_pods_has_a_score"), (LIVE, "test_the_status_shows_score_violations_and_class"))

GROUPS = {
    "1 a clean Pod": (*SCORED, (SCORE, "test_the_message_counts_violations_and_pods")),
    "2 everything wrong": (*SCORED, (SCORE, "test_units_are_counted_by_type")),
    "3 three Pods": (*SCORED, (SCORE, "test_units_are_counted_by_type")),
    "4 more Pods, and none": SCORED,
    "5 restarts": SCORED,
    "6 units": (
        (SCORE, "test_ten_units_of_everything_on_one_pod_score_nothing"),
        (LIVE, "test_every_container_counts"),
        (f"{HERE}/engine/test_totals.py", "test_removing_what_was_never_there_takes_nothing_away"),
        (f"{HERE}/engine/test_totals.py", "test_what_is_put_and_removed_leaves_no_trace"),
    ),
    "7 classes": ((SCORE, "test_a_score_has_a_class"), (SCORE, "test_eighty_is_healthy_and_less_is_not")),
    "8 namespaces of the system": (
        (SCORE, "test_a_system_namespace_is_known"),
        (SCORE, "test_an_ordinary_namespace_is_known"),
        (f"{HERE}/test_live_cluster.py", "test_a_pod_of_the_system_beside_a_clean_one_changes_nothing"),
        (ENFORCEMENT, "test_a_protected_namespace_is_neither_scored_nor_changed"),
    ),
    "9 severity": (
        (SCORE, "test_severity_multiplies_where_the_policy_scores_so"),
        (f"{HERE}/test_document.py", "test_the_restricted_bundle_by_severity_leaves_nothing_of_the_worst"),
        (LIVE, "test_the_status_shows_score_violations_and_class"),
    ),
    "10 serialisation": (
        (f"{HERE}/test_document.py", "test_absent_fields_are_left_out_and_read_as_absent"),
        (f"{HERE}/test_document.py", "test_a_policy_of_an_older_version_is_read"),
        (f"{HERE}/test_audit_result.py", "test_an_empty_list_of_violations_is_left_out"),
        (f"{HERE}/test_document.py", "test_a_server_takes_the_definitions"),
    ),
    "11 enforcement": (
        (PLANS, "test_a_pod_without_probes_plans_its_deployment"),
        (PLANS, "test_resources_are_planned_where_the_policy_has_some"),
        (PLANS, "test_two_pods_of_a_deployment_are_one_plan"),
        (PLANS, "test_nothing_is_planned_without_leave"),
        (PLANS, "test_a_deployment_is_called_like_its_replica_set"),
        (ENFORCEMENT, "test_a_workload_gets_what_its_pods_lack_once"),
        (ENFORCEMENT, "test_a_policy_that_audits_touches_and_watches_no_workload"),
        (ENFORCEMENT, "test_pods_without_a_workload_are_left_as_they_are"),
        (ENFORCEMENT, "test_only_a_tag_is_never_repaired"),
        (ENFORCEMENT, "test_a_probe_asks_a_port_that_is_known"),
    ),
    "12 the patch": (
        (PLANS, "test_the_patch_names_the_container_and_the_operator"),
        (ENFORCEMENT, "test_a_workload_gets_what_its_pods_lack_once"),
    ),
    "13 admission": (
        (ADMISSION, "test_a_pod_is_denied_for_what_it_declares"),
        (ADMISSION, "test_the_message_lists_every_finding"),
        (ADMISSION, "test_a_pod_that_does_not_run_yet_is_not_checked_for_its_status"),
        (ADMISSION, "test_an_answer_echoes_the_uid_and_says_why_only_when_it_denies"),
        (ADMISSION, "test_findings_below_the_bound_only_warn"),
        (SERVED, "test_a_server_reports_every_finding"),
        (SERVED, "test_a_server_lets_in_what_the_webhook_allows"),
    ),
    "14 finalizers": (
        (CHANGES, "test_foreign_finalizers_survive_and_ours_goes"),
        (CHANGES, "test_a_deleted_policy_takes_every_series_with_it"),
        (CHANGES, "test_a_policy_whose_finalizer_was_taken_leaves_nothing_behind"),
    ),
    "15 several clusters": (
        (SCORE, "test_clusters_count_by_their_pods"),
        ("cli/policy/test_live.py", "test_clusters_add_up_and_one_that_is_away_is_left_out"),
    ),
    "16 pages and manifests": (
        (f"{HERE}/test_live_metrics.py", "test_its_health_pages_answer_probes"),
        ("web/admission/test_webhook.py", "test_pages_report_health_and_readiness"),
        (DEPLOY, "test_every_document_parses"),
        (DEPLOY, "test_every_document_is_accepted_by_a_server"),
        (DEPLOY, "test_an_operator_alone_has_an_account_a_role_of_seven_rules_and_a_binding"),
        (ROLES, "test_an_operator_alone_does_all_it_can_with_its_seven_rules_and_needs_each"),
        (DEPLOY, "test_the_dashboard_shows_every_metric_in_places_that_do_not_overlap"),
        (f"{HERE}/test_document.py", "test_a_bundle_is_found_whatever_its_case"),
        (f"{HERE}/test_document.py", "test_an_unknown_bundle_lists_the_known_ones"),
    ),
    "17 certificates": (
        ("web/certificates/test_authority.py", "test_three_pem_files_for_one_service"),
        ("web/certificates/test_authority.py", "test_what_is_no_address_is_refused"),
    ),
    "18 beyond the original": (
        (CHANGES, "test_a_pod_that_is_created_or_deleted_changes_the_status_at_once"),
        (CHANGES, "test_foreign_finalizers_survive_and_ours_goes"),
        (f"{HERE}/test_live_leadership.py", "test_of_two_replicas_one_works_and_the_other_takes_over"),
        (CHANGES, "test_a_pod_that_waits_is_evaluated_again_when_its_time_is_up_and_not_before"),
    ),
}
OF_OBJECTS = {name for name in GROUPS if int(name.split()[0]) in {1, 2, 3, 4, 5, 6, 8, 9, 11, 12, 13, 14, 16, 18}}


@cache
def named_in(path: str) -> dict[str, set[str]]:
    """By name: what the test takes."""
    found = ast.walk(ast.parse((TESTS / path).read_text()))
    functions = (each for each in found if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return {each.name: {one.arg for one in each.args.args} for each in functions if each.name.startswith("test_")}


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_of_cases_is_stated(group: str) -> None:
    missing = [f"{path}::{name}" for path, name in GROUPS[group] if name not in named_in(path)]
    assert missing == []


def test_there_are_eighteen_groups() -> None:
    assert [int(each.split()[0]) for each in GROUPS] == list(range(1, 19))


@pytest.mark.parametrize("group", sorted(OF_OBJECTS))
def test_what_is_about_objects_runs_on_a_real_server_too(group: str) -> None:
    assert any("api" in named_in(path)[name] for path, name in GROUPS[group])
