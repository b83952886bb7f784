#!/usr/bin/env python3
"""Two versions of weir on one store: the program of an older commit, and the one that is tested.

    both_versions_test.py WEIR OLDER_WEIR sqlite|redis|dynamodb

The older program makes the store and charges a chain of three. It keeps running while the newer one opens the store and
charges the same buckets. What both admit together never exceeds the limit, whatever the older one is still able to do; nothing
that it has charged is lost; and where it must not write, it is refused and the store stays as it is.
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "sync"))
from regions_test import dynamodb_local, free_port, redis, wait_for  # noqa: E402

CAPACITY = 1000
CHAIN = ["key", "team", "company"]


def run(weir, store, *words, expected=0):
    done = subprocess.run([weir, *words, "--store", store, "-o", "json"], capture_output=True, text=True)
    assert done.returncode == expected, f"{words}: exit code {done.returncode}: {done.stdout}{done.stderr}"
    return done.stderr if expected == 1 else json.loads(done.stdout or "{}")


class Service:
    """A `weir serve` of either version."""

    def __init__(self, weir, store, log):
        self.port = free_port()
        self.process = subprocess.Popen(
            [weir, "serve", "--store", store, "--listen", f"127.0.0.1:{self.port}"], stdout=log, stderr=log)
        wait_for("weir serve is not ready", lambda: self.process.poll() is not None or self.get("/readyz") == 200)
        assert self.process.poll() is None, "weir serve ended"

    def get(self, path):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60).status
        except urllib.error.HTTPError as answer:
            return answer.code
        except OSError:
            return 0

    def post(self, path, body, key=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(),
                                         {"Idempotency-Key": key} if key else {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as answer:
            return answer.code, json.load(answer)

    def acquire(self, entity, amount, key=None):
        return self.post("/v1/acquire", {"entity": entity, "resource": "r", "consume": {"tokens": amount}}, key)

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0


@contextlib.contextmanager
def serving(weir, store, log):
    service = Service(weir, store, log)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()


def make(older, store, log):
    """The older program's store, with 100 of CAPACITY charged through a lease that is settled to 40, and an open lease of 10."""
    run(older, store, "limits", "set", "--system", "-l", f"tokens:{CAPACITY}/day")
    for child, parent in zip(CHAIN, CHAIN[1:]):
        run(older, store, "entity", "create", child, "--parent", parent, "--cascade")
    with serving(older, store, log) as service:
        status, answer = service.acquire("key", 100)
        assert status == 200, answer
        assert service.post(f"/v1/leases/{answer['lease']}/settle", {"actual": {"tokens": 40}})[0] == 200
        status, answer = service.acquire("key", 10, "repeated")
        assert status == 200, answer
        service.stop()
    return answer["lease"]


def remaining(weir, store, entity):
    limits = run(weir, store, "available", entity, "r")["limits"]
    return next(limit["remaining"] for limit in limits if limit["entity"] == entity)


def continues(newer, store, lease, log):
    """The newer program keeps the older one's charges, chains, repeats and leases."""
    with serving(newer, store, log) as service:
        status, answer = service.acquire("key", 10, "repeated")
        assert status == 200 and answer["lease"], answer
        status, answer = service.acquire("key", 0)
        assert {limit["entity"] for limit in answer["limits"]} == set(CHAIN), answer
        # A day refills 1,000 tokens, so the minutes that this test may take give back less than 5.
        assert all(950 <= limit["remaining"] < 955 for limit in answer["limits"]), answer
        status, answer = service.post(f"/v1/leases/{lease}/settle", {"actual": {"tokens": 5}})
        assert status == 200, answer
        assert all(955 <= limit["remaining"] < 960 for limit in answer["limits"]), answer
        assert service.post(f"/v1/leases/{lease}/settle", {"actual": {"tokens": 5}})[0] == 200, "the same again"
        assert service.post(f"/v1/leases/{lease}/rollback", {})[0] == 409, "a different ending"
        service.stop()


def exhaust(services, entity):
    """How much each service admits, one token at a time, until the limit or an error ends it."""
    def spend(service):
        admitted, others = 0, set()
        for _ in range(CAPACITY + 100):
            status, answer = service.acquire(entity, 1)
            if status == 200:
                admitted += 1
            elif status == 503 and answer["type"].endswith("contention"):
                continue  # nothing is charged
            else:
                others.add((status, answer.get("type", "").rsplit(":")[-1].rsplit("/")[-1]))
                break
        return admitted, others

    with concurrent.futures.ThreadPoolExecutor(len(services)) as threads:
        return list(threads.map(spend, services))


def on_sqlite(newer, older, log):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "weir.db")
        store = f"sqlite:{path}"
        lease = make(older, store, log)
        continues(newer, store, lease, log)
        before = path.read_bytes()
        told = run(older, store, "available", "key", "r", expected=1)
        assert "version" in told, told
        assert path.read_bytes() == before, "the older program has written"
        print(f"sqlite: the older program is refused: {told.strip()}")


def on_redis(newer, older, log):
    with redis() as url:
        store = url + "?deadline_ms=20000"
        lease = make(older, store, log)
        with serving(older, store, log) as running:
            assert running.acquire("key", 1)[0] == 200
            # The last charge of 1 is given back by nobody.
            continues_after = remaining(older, store, "key")
            assert 949 <= continues_after < 954, continues_after
            run(older, store, "limits", "set", "--entity", "key", "-l", f"tokens:{CAPACITY + 1}/day")
            continues(newer, store, lease, log)
            with serving(newer, store, log) as service:
                (ours, why), (theirs, refused) = exhaust([service, running], "key")
                assert why == {(429, "quota-exceeded")}, why
                assert theirs == 0 and {status for status, _ in refused} == {503}, (theirs, refused)
                # One was charged before the upgrade, and the capacity of the key was raised, which gives nothing.
                assert 955 <= ours + 1 < 961, ours
                # A bucket that the older program makes now is charged by both.
                (ours, why), (theirs, refused) = exhaust([service, running], "other")
                assert ours + theirs <= CAPACITY + 2, (ours, theirs)
                assert why == {(429, "quota-exceeded")}, why
                print(f"redis: of {CAPACITY} on a new bucket the newer admits {ours}, the older {theirs} until {refused}")
        told = run(older, store, "available", "key", "r", expected=1)
        print(f"redis: the older program is refused when it opens the store: {told.strip()}")


def on_dynamodb(newer, older, log):
    os.environ.update(AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local", AWS_REGION="us-east-1")
    with dynamodb_local() as endpoint:
        store = f"dynamodb://weir?endpoint={endpoint}&deadline_ms=20000"
        init = [older, "store", "init", "--store", store]
        wait_for("there is no table", lambda: subprocess.run(init, stdout=subprocess.DEVNULL).returncode == 0)
        lease = make(older, store, log)
        continues(newer, store, lease, log)
        with serving(older, store, log) as running, serving(newer, store, log) as service:
            for entity in ("key", "other"):
                (ours, why), (theirs, refused) = exhaust([service, running], entity)
                assert why == refused == {(429, "quota-exceeded")}, (why, refused)
                spent = 0 if entity == "other" else 45
                assert CAPACITY - spent <= ours + theirs <= CAPACITY - spent + 5, (ours, theirs)
                assert ours and theirs
                print(f"dynamodb: of {entity} the newer admits {ours}, the older {theirs}")
        run(newer, store, "block", "key", "--reason", "a feature that the older program cannot read")
        told = run(older, store, "available", "key", "r", expected=1)
        print(f"dynamodb: the older program is refused after the first block: {told.strip()}")


if __name__ == "__main__":
    _, newer, older, kind = sys.argv
    with tempfile.TemporaryFile() as log:
        try:
            {"sqlite": on_sqlite, "redis": on_redis, "dynamodb": on_dynamodb}[kind](newer, older, log)
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode()[-8000:])
            raise
