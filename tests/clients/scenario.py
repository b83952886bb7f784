"""The scenario of the generated Python client: scenario.py URL TOKEN EXAMPLES. go/ and typescript/ have the same."""
import json
import pathlib
import sys

import weir_client
from weir_client import (Acquire, Change, ChangeDeleteEntity, ChangeSetLimits, Changes, GivenLimit, Level, LimitNumbers,
                         Owner, PutEntity, SetLimits, Settle, Source)

HUNDRED_DAYS = 8_640_000_000  # in milliseconds: more than 32 bits hold
NEAR = 0.01  # more than refills while the scenario runs


def equal(what, actual, expected):
    if actual != expected:
        sys.exit(f"{what} is {actual!r}, not {expected!r}")


def near(what, actual, expected):
    if not expected <= actual <= expected + NEAR:
        sys.exit(f"{what} is {actual!r}, not {expected!r}")


def refused(what, status, call):
    """The problem that the call is answered with."""
    try:
        call()
    except weir_client.ApiException as error:
        equal(f"status of {what}", error.status, status)
        equal(f"status in the body of {what}", error.data.status, status)
        return error.data
    sys.exit(f"{what} was not refused")


def set_limits(limits):
    stored = limits.set_system_limits(SetLimits(limits={
        "rpm": GivenLimit("3/d"),
        "tpm": GivenLimit(LimitNumbers(capacity=1000, refill_period_ms=HUNDRED_DAYS))}))
    equal("owner", stored.owner, Owner.OPERATOR)
    equal("capacity of rpm", stored.limits["rpm"].capacity, 3)
    equal("period of rpm", stored.limits["rpm"].refill_period_ms, 86_400_000)
    equal("burst of tpm", stored.limits["tpm"].burst, 1000)
    equal("period of tpm", stored.limits["tpm"].refill_period_ms, HUNDRED_DAYS)


def put_entities(entities):
    entities.put_entity("org/search", put_entity=PutEntity(name="Search"))
    put = entities.put_entity("key-1", put_entity=PutEntity(parent="org/search", metadata={"team": "search"}))
    equal("parent", put.parent, "org/search")
    equal("cascade", put.cascade, False)
    equal("metadata", put.metadata, {"team": "search"})
    equal("a name that needs an escape", entities.get_entity("org/search").name, "Search")
    equal("created_at_ms is a moment", put.created_at_ms > 1_700_000_000_000, True)
    equal("children", entities.list_children("org/search").children, ["key-1"])
    missing = refused("a missing entity", 404, lambda: entities.get_entity("nobody"))
    equal("type of a missing entity", missing.type, "not-found")
    names, cursor = [], None
    while True:
        page = entities.list_entities(limit=1, cursor=cursor)
        names += [entity.entity for entity in page.items]
        if not (cursor := page.next):
            break
    equal("names in pages", names, ["key-1", "org/search"])


def acquire(decisions, leases):
    admitted = decisions.acquire(Acquire(entity="key-1", resource="gpt-4", consume={"rpm": 1, "tpm": 400.5}),
                                 idempotency_key="call-1")
    equal("allowed", (admitted.allowed, admitted.degraded), (True, None))
    rpm, tpm = admitted.limits
    equal("names of limits", (rpm.name, tpm.name), ("rpm", "tpm"))
    equal("source", rpm.source, Source.FROM_SYSTEM)
    equal("requested of tpm", tpm.requested, 400.5)
    near("remaining of rpm", rpm.remaining, 2)
    near("remaining of tpm", tpm.remaining, 599.5)

    problem = refused("too many requests", 429, lambda: decisions.acquire(
        Acquire(entity="key-1", resource="gpt-4", consume={"rpm": 3})))
    equal("type", problem.type, "https://iana.org/assignments/http-problem-types#quota-exceeded")
    equal("allowed and never_fits", (problem.allowed, problem.never_fits), (False, False))
    equal("violated policies", problem.violated_policies, ["rpm"])
    equal("exceeded", [limit.exceeded for limit in problem.limits if limit.name == "rpm"], [True])
    equal("wait of at most a third of a day", 0 < problem.retry_after_ms <= 28_800_000, True)
    never = refused("more than fits", 429, lambda: decisions.acquire(
        Acquire(entity="key-1", resource="gpt-4", consume={"tpm": 1001})))
    equal("never fits", (never.never_fits, never.retry_after_ms), (True, None))

    settled = leases.settle_lease(admitted.lease, settle=Settle(actual={"tpm": 100.25}))
    near("remaining of tpm after settling", [limit.remaining for limit in settled.limits if limit.name == "tpm"][0], 899.75)
    unknown = refused("an unknown limit", 422, lambda: decisions.acquire(
        Acquire(entity="key-1", resource="gpt-4", consume={"rpn": 1})))
    equal("type of an unknown limit", unknown.type, "unknown-limit")


def look(limits, entities, audit):
    effective = limits.effective_limits(entity="key-1", resource="gpt-4")
    equal("source of the limits in force", effective.source, Source.FROM_SYSTEM)
    equal("capacity in force", effective.limits["tpm"].capacity, 1000)
    listed = limits.list_limits(level=Level.SYSTEM)
    equal("levels", [item.level for item in listed.items], [Level.SYSTEM])
    (bucket,) = entities.list_buckets("key-1").buckets
    equal("consumed", {limit.name: limit.consumed for limit in bucket.limits}, {"rpm": 1, "tpm": 100.25})
    (event,) = audit.audit(entity="key-1").events
    equal("audit", (event.action, event.principal, event.before, event.after["parent"]),
          ("entity.put", "alice", None, "org/search"))


def change(changes, limits):
    changed = changes.change(Changes(changes=[
        Change(ChangeSetLimits(change="limits.set", level=Level.RESOURCE, resource="search", limits={"rpm": GivenLimit("5/min")})),
        Change(ChangeDeleteEntity(change="entity.delete", entity="key-1"))]))
    equal("changed", changed.changed, 2)
    equal("capacity of the resource", limits.get_resource_limits("search").limits["rpm"].capacity, 5)
    limits.delete_system_limits()
    refused("deleted limits", 404, limits.get_system_limits)


def read_examples(path):
    for example in json.loads(pathlib.Path(path).read_text()):
        read = getattr(weir_client, example["schema"]).from_dict(example["value"])
        equal(f"{example['name']}, read and written", read.to_dict(), example["value"])


def main(url, token, examples):
    read_examples(examples)
    client = weir_client.ApiClient(weir_client.Configuration(host=url, access_token=token))
    decisions, entities, limits = (api(client) for api in (
        weir_client.DecisionsApi, weir_client.EntitiesApi, weir_client.LimitsApi))
    set_limits(limits)
    put_entities(entities)
    acquire(decisions, weir_client.LeasesApi(client))
    look(limits, entities, weir_client.AuditApi(client))
    change(weir_client.ChangesApi(client), limits)
    equal("ready", weir_client.ServiceApi(client).ready(), "ready\n")
    stranger = weir_client.ApiClient(weir_client.Configuration(host=url))
    problem = refused("a call without a token", 401, weir_client.LimitsApi(stranger).get_system_limits)
    equal("type without a token", problem.type, "unauthorized")


if __name__ == "__main__":
    main(*sys.argv[1:])
