#!/usr/bin/env python3
"""Holds docs/openapi.yaml and `weir serve` against each other with calls that schemathesis generates.

    api_test.py WEIR VENV REPOSITORY [EXAMPLES]    so many examples of each call and caller
    api_test.py WEIR VENV REPOSITORY --list        prints every failure, as lines of a table

WEIR_HOSTILE_SEED=N generates other calls. Every check is on. A failure that KNOWN does not have is an error.
"""
import base64
import collections
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import yaml

sys.path.append(str(pathlib.Path(__file__).parent.parent / "gateway"))

from known import KNOWN  # noqa: E402
from program import expect, report  # noqa: E402

SEED = int(os.environ.get("WEIR_HOSTILE_SEED", 1))
# By the name of the caller, which is also its token; "none" is a service without tokens.
ROLES = {"none": None, "alice": "admin", "dash": "read"}


class Service:
    """`weir serve` with a store in memory, with or without tokens."""

    def __init__(self, weir, folder, caller):
        options = []
        if ROLES[caller]:
            tokens = pathlib.Path(folder, "tokens")
            tokens.write_text(f"{caller} {ROLES[caller]} sha256:{hashlib.sha256(caller.encode()).hexdigest()}\n")
            options = ["--tokens", tokens]
        self.process = subprocess.Popen(
            [weir, "serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "error", *options],
            stdout=subprocess.PIPE, text=True, cwd=folder)
        self.url = re.search(r"http://[^ ,\n]+", self.process.stdout.readline())[0]

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.process.send_signal(signal.SIGTERM)
        expect("the service ends as it should", self.process.wait(60) == 0)
        self.process.stdout.close()


def document(repository, folder, caller):
    """The description as this caller needs it: without tokens, no call needs one."""
    text = pathlib.Path(repository, "docs/openapi.yaml").read_text()
    tree = yaml.safe_load(text)
    if not ROLES[caller]:
        del tree["security"]
        for item in tree["paths"].values():
            for operation in item.values():
                if isinstance(operation, dict):
                    operation.pop("security", None)
    path = pathlib.Path(folder, "openapi.json")
    path.write_text(json.dumps(tree))
    return path


def content(of):
    return base64.b64decode(of["$base64"]).decode(errors="replace") if of else ""


def failures(events):
    """Every failed check: its name, the operation, the status, the body of the answer, and the request."""
    for line in events.read_text().split("\n"):
        finished = json.loads(line).get("ScenarioFinished") if line else None
        recorder = (finished or {}).get("recorder") or {}
        for case, checks in recorder.get("checks", {}).items():
            for check in checks:
                if check["status"] != "failure":
                    continue
                failure = check["failure_info"]["failure"]
                exchange = recorder["interactions"][case]
                request, answer = exchange["request"], exchange.get("response") or {"status_code": 0, "content": None}
                yield (check["name"], failure["operation"], answer["status_code"], content(answer.get("content")),
                       f"{request['method']} {request['uri']} {json.dumps(request['headers'])} {content(request.get('body'))}: "
                       f"{failure['message']}")


def word_of(body):
    try:
        return json.loads(body)["type"], json.loads(body)["detail"]
    except (ValueError, KeyError, TypeError):
        return "", body


def try_calls(weir, venv, repository, caller, examples, phases="examples,coverage,fuzzing,stateful"):
    with tempfile.TemporaryDirectory() as folder, Service(weir, folder, caller) as service:
        events = pathlib.Path(folder, "events")
        command = [f"{venv}/bin/schemathesis", "run", document(repository, folder, caller), "--url", service.url, "--checks", "all",
                   "--phases", phases, "--seed", str(SEED), "--max-examples", str(examples), "--continue-on-failure", "--no-shrink",
                   "--generation-database", "none", "--no-color", "--warnings", "off", "--report-ndjson-path", events,
                   "--output-truncate", "true"]
        if ROLES[caller]:
            command += ["--header", f"Authorization: Bearer {caller}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        made = re.search(r"(\d+) generated", done.stdout)
        expect(f"schemathesis runs: {done.stdout[-2000:]} {done.stderr[-2000:]}", made and done.returncode in (0, 1))
        expect("the service goes on", service.process.poll() is None)
        return int(made[1]) if made else 0, list(failures(events))


def known(check, operation, status, word, detail):
    for entry in KNOWN:
        if (check == entry.check and re.fullmatch(entry.operation, operation) and status == entry.status and
                re.search(entry.answer, f"{word}: {detail}")):
            return entry
    return None


def main():
    weir, venv, repository = (str(pathlib.Path(path).absolute()) for path in sys.argv[1:4])
    listing = sys.argv[4:] == ["--list"]
    examples = int(sys.argv[4]) if len(sys.argv) > 4 and not listing else 20
    used, new, calls = set(), collections.defaultdict(list), 0
    for caller in ROLES:
        generated, found = try_calls(weir, venv, repository, caller, examples)
        print(f"{caller}: {generated} calls, {len(found)} failed checks", flush=True)
        calls += generated
        for check, operation, status, body, what in found:
            word, detail = word_of(body)
            entry = None if listing else known(check, operation, status, word, detail)
            if entry:
                used.add(entry)
            else:
                new[check, operation, status, word].append((caller, detail, what))
    if listing:
        for (check, operation, status, word), cases in sorted(new.items()):
            for detail in sorted({re.sub(r'"[^"]*"|change \d+', "~", detail)[:110] for _, detail, _ in cases}):
                print(f"  {check} | {operation} | {status} | {word} | {detail}")
    for (check, operation, status, word), cases in sorted(new.items()):
        callers = sorted({caller for caller, _, _ in cases})
        expect(f"{check}: {operation} answers {status} {word} to {callers}, {len(cases)} times. {cases[0][1][:300]} Call: {cases[0][2][:700]}",
               False)
    for entry in KNOWN:
        if entry not in used and not listing:
            print(f"not seen in this run: {entry}")
    return report(f"{calls} calls with seed {SEED}, {len(KNOWN)} failures are known")


if __name__ == "__main__":
    sys.exit(main())
