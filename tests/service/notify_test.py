#!/usr/bin/env python3
"""What `weir serve` tells a service manager, on a socket with a path and on an abstract one.

    notify_test.py WEIR
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

wrong = []


def expect(what, condition):
    if not condition:
        wrong.append(what)


def heard(manager):
    """The next message, as its assignments."""
    return dict(line.split("=", 1) for line in manager.recv(4096).decode().splitlines())


def start(weir, folder, address, *options):
    return subprocess.Popen(
        [weir, "serve", "--listen", "127.0.0.1:0", "--store", "memory:", *options], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "NOTIFY_SOCKET": address})


def listening(name):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.settimeout(60)
    manager.bind(name)
    return manager


def a_whole_life(weir, folder, name, address):
    with listening(name) as manager:
        process = start(weir, folder, address)
        url = re.search(r"http://[^ ,]+", process.stdout.readline())[0]
        ready = heard(manager)
        expect(f"{address}: ready is {ready}", ready == {"READY": "1", "STATUS": f"listens on {url}"})
        before = time.monotonic_ns() // 1000
        process.send_signal(signal.SIGHUP)
        reloading = heard(manager)
        expect(f"{address}: reloading is {reloading}", list(reloading) == ["RELOADING", "MONOTONIC_USEC"])
        at = int(reloading["MONOTONIC_USEC"])
        expect(f"{address}: {at} is no moment of the reload", before <= at <= time.monotonic_ns() // 1000)
        expect(f"{address}: not ready after the reload", heard(manager).get("READY") == "1")
        process.send_signal(signal.SIGTERM)
        stopping = heard(manager)
        expect(f"{address}: stopping is {stopping}", stopping.get("STOPPING") == "1")
        expect(f"{address}: it ended with {process.wait(60)}", process.returncode == 0)


def never_ready_if_it_cannot_start(weir, folder):
    with listening(f"{folder}/refused") as manager:
        process = start(weir, folder, f"{folder}/refused", "--tokens", "missing")
        expect("it started without its tokens", process.wait(60) == 2)
        manager.setblocking(False)
        try:
            expect(f"it said {manager.recv(4096)}", False)
        except BlockingIOError:
            pass


def no_manager_is_no_reason_not_to_serve(weir, folder, address):
    process = start(weir, folder, address)
    expect(f"{address[:40]}: it does not serve", "listens on" in process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    expect(f"{address[:40]}: it ended with {process.wait(60)}", process.returncode == 0)


def main(weir):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/notify"
        a_whole_life(weir, folder, path, path)
        abstract = f"weir-test-{os.getpid()}"
        a_whole_life(weir, folder, "\0" + abstract, "@" + abstract)
        never_ready_if_it_cannot_start(weir, folder)
        for address in (f"{folder}/nobody", "@nobody-listens-here", "/", "@", "nowhere", "/" + "a" * 300, ""):
            no_manager_is_no_reason_not_to_serve(weir, folder, address)
    print(*wrong, f"{len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
