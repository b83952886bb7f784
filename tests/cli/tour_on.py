#!/usr/bin/env python3
"""Runs the tour of a document (tour.sh) on a real server.

    tour_on.py WEIR DOCUMENT redis|dynamodb
"""
import os
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "sync"))
from regions_test import dynamodb_local, redis, wait_for  # noqa: E402


def main(weir, document, kind):
    tour = [TESTS / "cli/tour.sh", weir, document]
    if kind == "redis":
        with redis() as store:
            return subprocess.run([*tour, store + "?deadline_ms=20000"]).returncode
    os.environ.update(AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local", AWS_REGION="us-east-1")
    with dynamodb_local() as endpoint:
        store = f"dynamodb://weir?endpoint={endpoint}&deadline_ms=20000"
        # The first call of a server that has just started can outlast the deadline on a busy machine.
        init = [weir, "store", "init", "--store", store]
        wait_for("there is no table", lambda: subprocess.run(init, stdout=subprocess.DEVNULL).returncode == 0)
        return subprocess.run([*tour, store]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
