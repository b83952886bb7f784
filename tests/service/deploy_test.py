#!/usr/bin/env python3
"""Holds the dashboard and the alerts in deploy/ against the metrics of a running `weir serve`.

    deploy_test.py WEIR REPOSITORY

Prints what is wrong and ends with 1; with 77 where promtool is missing.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import yaml

problems = []


def wrong(text):
    problems.append(text)
    print("deploy:", text)


class Server:
    """A service on a free port; ends with the block."""

    def __init__(self, weir, folder):
        self.process = subprocess.Popen(
            [weir, "serve", "--listen", "127.0.0.1:0", "--store", f"sqlite:{folder}/weir.db",
             "--access-log", f"{folder}/access.log"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = re.search(r"http://[^ ,]+", self.process.stdout.readline()).group()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=60)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.read().decode()


def traffic(server):
    """Something of everything that has metrics of its own."""
    server.call("PUT", "/v1/limits/system", {"limits": {"rpm": "2/min"}})
    acquire = {"entity": "e", "resource": "gpt-4", "consume": {"rpm": 1}}
    for _ in range(3):
        server.call("POST", "/v1/acquire", acquire)
    server.call("PUT", "/v1/limits/entity/e/_default_", {"limits": {"rpm": "2/min"}, "owner": "sync", "ttl_ms": 60000})


def promtool(*arguments, text=None):
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "error" in done.stdout.lower():
        wrong(f"promtool {' '.join(arguments)}: {done.stdout}{done.stderr}")


def names_in(expression):
    """The metrics that an expression reads: words before a {, or that look like ours."""
    return set(re.findall(r"\b(?:weir|process)_[a-z0-9_]+\b", expression))


def live_names(text):
    families = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    samples = set(re.findall(r"^([a-z_0-9]+)[{ ]", text, re.MULTILINE))
    return families, samples


def panels_of(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def check_dashboard(dashboard, families, samples, folder):
    expressions = [target["expr"] for panel in panels_of(dashboard) for target in panel["targets"]]
    queries = [variable["definition"] for variable in dashboard["templating"]["list"] if "definition" in variable]
    shown = set()
    for expression in expressions + queries:
        for name in names_in(expression):
            shown.add(name)
            if name not in samples:
                wrong(f"the dashboard reads {name}, which weir does not have: {expression}")
    for family in families:
        if not any(name in shown for name in (family, family + "_bucket")):
            wrong(f"no panel shows {family}")
    known = {variable["name"] for variable in dashboard["templating"]["list"]} | {"__rate_interval", "__all"}
    for name in re.findall(r"\$\{?([a-z_]+)", json.dumps(dashboard)):
        if name not in known:
            wrong(f"the dashboard uses ${name}, which is no variable of it")
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(set(ids)) != len(ids):
        wrong("two panels have the same id")
    for panel in panels_of(dashboard):
        if not panel["title"] or not panel["description"] or panel["datasource"]["uid"] != "${datasource}":
            wrong(f"panel {panel['id']} lacks a title, a description or the data source")
    # Grafana fills in its variables; Prometheus says whether the rest is an expression.
    rules = [{"record": f"test:{i}:expression", "expr": e.replace("$__rate_interval", "5m")}
             for i, e in enumerate(expressions)]
    rules = [{**rule, "record": re.sub(r"\d+", lambda m: "n" * (int(m.group()) + 1), rule["record"])} for rule in rules]
    file = pathlib.Path(folder) / "dashboard.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", str(file))


def check_rules(path, samples):
    rules = yaml.safe_load(path.read_text())["groups"][0]["rules"]
    for rule in rules:
        for name in names_in(rule["expr"]):
            if name not in samples:
                wrong(f"alert {rule['alert']} reads {name}, which weir does not have")
    tested = path.with_name("weir.rules.test.yml")
    text = tested.read_text()
    for rule in rules:
        if not re.search(rf"alertname: {rule['alert']}\n\s+exp_alerts:\n", text):
            wrong(f"no test sees alert {rule['alert']} fire")
    promtool("check", "rules", str(path))
    promtool("test", "rules", str(tested))


def check_documentation(path, families):
    text = path.read_text()
    for family in families:
        if f"`{family}" not in text:
            wrong(f"{path.name} does not say what {family} is")
    # What only a DynamoDB store counts is held against one in tests/dynamodb/counting_test.cc, what only Redis does in
    # tests/redis/usage_test.cc.
    elsewhere = [line for line in text.splitlines() if "with `dynamodb`" in line or "with `redis`" in line]
    for name in names_in(text) - names_in("\n".join(elsewhere)):
        if name not in families and re.sub(r"_(bucket|sum|count)$", "", name) not in families:
            wrong(f"{path.name} tells of {name}, which weir does not have")


def metrics_of_sync(weir, folder):
    """What `weir sync --metrics` writes."""
    config, metrics = pathlib.Path(folder, "sync.yaml"), pathlib.Path(folder, "sync.prom")
    config.write_text(f"""region: a
regions: [a, b]
store: "sqlite:{folder}/sync.db"
exchange: {folder}
shared: [{{resource: r, entities: [e]}}]
""")
    subprocess.run([weir, "sync", "--config", config, "--once", "--metrics", metrics], check=True, stderr=subprocess.DEVNULL)
    promtool("check", "metrics", text=metrics.read_text())
    return live_names(metrics.read_text())


def main(weir, repository):
    if shutil.which("promtool") is None:
        print("deploy: promtool is missing; it is in the package prometheus")
        return 1
    deploy = pathlib.Path(repository) / "deploy"
    with tempfile.TemporaryDirectory() as folder:
        with Server(weir, folder) as server:
            traffic(server)
            text = server.call("GET", "/metrics")
        promtool("check", "metrics", text=text)
        families, samples = (ours | theirs for ours, theirs in zip(live_names(text), metrics_of_sync(weir, folder)))
        check_dashboard(json.loads((deploy / "grafana" / "weir.json").read_text()), families, samples, folder)
    check_rules(deploy / "prometheus" / "weir.rules.yml", samples)
    check_documentation(pathlib.Path(repository) / "docs" / "metrics.md", families)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
