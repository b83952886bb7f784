#!/usr/bin/env python3
"""Two regions: two redis-servers, and a `weir sync` beside each, which exchange snapshots through a folder.

    regions_test.py WEIR

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

PATIENCE = 300
WHOLE = 6000


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
        end = time.monotonic() + PATIENCE
        while subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True).stdout != b"PONG\n":
            assert time.monotonic() < end, "redis-server does not start"
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


class Region:
    def __init__(self, weir, folder, name, store):
        self.weir, self.store, self.name = weir, store, name
        self.config = pathlib.Path(folder, f"{name}.yaml")
        self.metrics = pathlib.Path(folder, f"{name}.prom")
        self.config.write_text(f"""region: {name}
regions: [eu, us]
store: {store}
exchange: {folder}/exchange
window: 3s
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


def main(weir):
    with tempfile.TemporaryDirectory() as folder, redis() as store_eu, redis() as store_us:
        os.mkdir(f"{folder}/exchange")
        eu, us = Region(weir, folder, "eu", store_eu), Region(weir, folder, "us", store_us)
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
    main(sys.argv[1])
