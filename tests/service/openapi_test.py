#!/usr/bin/env python3
"""Holds docs/openapi.yaml against OpenAPI itself, and against a service.

    openapi_test.py WEIR REPOSITORY schema             is it OpenAPI, and does it keep its own rules?
    openapi_test.py WEIR REPOSITORY memory:|sqlite:    is every example answered as it says, on this store?
    openapi_test.py WEIR REPOSITORY STORE --show OPERATION/NAME    prints what is answered to one example

The head of docs/openapi.yaml says how examples are written. Ends with 77 where openapi-specification, the Debian package
with the schema of OpenAPI, is not installed.
"""
import calendar
import hashlib
import http.client
import json
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

import jsonschema
import yaml

OFFICIAL = pathlib.Path("/usr/share/openapi-specification/schemas/v3.0/schema.json")
PLACES = ("get", "put", "post", "delete")
CALLERS = {"alice": "admin", "edge": "acquire", "dash": "read"}
BOUND = {"tenant": ("read", "staging")}  # to one namespace
SINGLE = ("Authorization", "Weir-Namespace", "Idempotency-Key")  # headers that may not be there twice
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

# What cannot be known before, by the name of the member or header.
IDS = {"lease", "id", "decision", "request_id"}  # made by the service; the same text stands for the same thing in all examples
MOMENTS = {"created_at_ms", "since_ms", "at_ms", "refilled_at_ms", "version", "purged_at_ms"}  # of this run
LATER = {"expires_at_ms", "full_at_ms", "deadline_ms", "kept_until_ms"}  # not before this run
LEFT = {"remaining", "tokens"}  # may have refilled since
STARTS = {"start"}  # the day of this run
WRITTEN = {"at", "passes_at"}  # moments of this run, and later ones, as text
WAITS = {"retry_after_ms", "retry-after-ms"}  # may have passed in part
# Text that has such numbers in it: compared without them, and then number by number.
WORDED = {"detail": r"(?<=retry in )\d+(?= ms)|(?<=lacks )[\d.]+(?= )", "RateLimit": r"(?<=;[rt]=)\d+", "Retry-After": r"\d+"}
PERIODS = {"m": 60, "h": 3600, "d": 86400}  # of limits, by the last letter of their names
# What may be left to the default response: refused by HTTP itself, before any operation is known.
BY_DEFAULT = {405, 408, 411, 414, 417, 431, 501, 505}
# Fields of every answer of HTTP, which no document of an API repeats.
OF_HTTP = {"content-length", "content-type", "connection", "date"}


class Loader(yaml.SafeLoader):
    """Reads plain scalars as the build does: no dates, no `yes`."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("bool", r"^(?:true|false)$", "tf"),
    ("null", r"^null$", "n"),
    ("int", r"^-?(?:0|[1-9][0-9]*)$", "-0123456789"),
    ("float", r"^-?(?:0|[1-9][0-9]*)\.[0-9]+$", "-0123456789"),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


class Document:
    """The description, with its references followed."""

    def __init__(self, path):
        self.tree = yaml.load(path.read_text(), Loader)
        self.operations = {}  # by operationId: (method, path, operation, parameters)
        for route, item in self.tree["paths"].items():
            for method in PLACES:
                if method in item:
                    operation = item[method]
                    parameters = [self.follow(p) for p in item.get("parameters", []) + operation.get("parameters", [])]
                    assert operation["operationId"] not in self.operations, operation["operationId"]
                    self.operations[operation["operationId"]] = (method, route, operation, parameters)

    def follow(self, node):
        while "$ref" in node:
            at = self.tree
            for name in node["$ref"].removeprefix("#/").split("/"):
                at = at[name]
            node = at
        return node

    def response(self, operation, status):
        """The response that describes this status; its own, or the default."""
        responses = operation["responses"]
        return self.follow(responses[str(status)] if str(status) in responses else responses["default"])

    def schema(self, schema):
        """As JSON Schema: what OpenAPI 3.0 calls nullable is a type there."""
        def plain(node):
            if isinstance(node, list):
                return [plain(inner) for inner in node]
            if not isinstance(node, dict):
                return node
            copy = {name: plain(inner) for name, inner in node.items() if name not in ("nullable", "example")}
            if node.get("nullable") is True:
                copy["type"] = [copy["type"], "null"]
            return copy
        whole = plain(schema)
        whole["components"] = {"schemas": plain(self.tree["components"]["schemas"])}
        return whole

    def mistakes(self, value, schema):
        return [f"{'/'.join(map(str, e.absolute_path))}: {e.message}"
                for e in jsonschema.Draft4Validator(self.schema(schema)).iter_errors(value)]

    def answers(self):
        """Every example of an answer: its step, the status and the value."""
        for name, (_, _, operation, _) in self.operations.items():
            for status, response in operation["responses"].items():
                for media in self.follow(response).get("content", {}).values():
                    for example, content in media.get("examples", {}).items():
                        yield f"{name}/{example}", status, content["value"]

    def steps(self):
        return [step if isinstance(step, dict) else {"run": step} for step in self.tree["x-weir-scenario"]]


def check_document(document, root):
    """What the schema of OpenAPI and the head of the document ask for."""
    if not OFFICIAL.exists():
        print(f"{OFFICIAL} is missing; install openapi-specification")
        sys.exit(1)
    official = jsonschema.Draft4Validator(json.loads(OFFICIAL.read_text()))
    wrong = [f"not OpenAPI: {'/'.join(map(str, e.absolute_path))}: {e.message[:200]}"
             for e in official.iter_errors(document.tree)]
    for name, schema in document.tree["components"]["schemas"].items():
        jsonschema.Draft4Validator.check_schema(document.schema(schema))
        if f'"#/components/schemas/{name}"' not in json.dumps(document.tree):
            wrong.append(f"nothing uses the schema {name}")
    version = ".".join(re.findall(r"#define WEIR_VERSION_\w+ (\d+)", (root / "include/weir/version.h").read_text()))
    if document.tree["info"]["version"] != version:
        wrong.append(f"info.version is not {version}")
    for name, (_, route, operation, parameters) in document.operations.items():
        in_path = {p["name"] for p in parameters if p["in"] == "path"}
        if in_path != set(re.findall(r"{(\w+)}", route)):
            wrong.append(f"{name}: the path has other parameters than {in_path}")
        for response in operation["responses"].values():
            if "X-Request-Id" not in document.follow(response).get("headers", {}):
                wrong.append(f"{name}: an answer without X-Request-Id")
    run = {step["run"] for step in document.steps() if "run" in step}
    answered = {step for step, _, _ in document.answers()}
    named = answered | {step["run"] for step in document.steps() if "status" in step}
    for name, (_, _, operation, parameters) in document.operations.items():
        if not any(step.startswith(name + "/") for step in run):
            wrong.append(f"{name}: no example is sent to it")
        holders = [media for media in operation.get("requestBody", {}).get("content", {}).values()]
        for status in operation["responses"].values():
            holders += document.follow(status).get("headers", {}).values()
        for holder in holders:
            wrong += [f"{name}/{example} has no answer" for example in holder.get("examples", {})
                      if f"{name}/{example}" not in named]
    wrong += [f"{step} has an answer and is not sent" for step in sorted(answered - run)]
    wrong += [f"{step} is sent and has no answer" for step in sorted(run - named)]
    # A parameter's example may be of any operation of its path.
    of_path = {}
    for name, (_, route, _, parameters) in document.operations.items():
        of_path.setdefault(route, set()).update(s.split("/")[1] for s in run if s.startswith(name + "/"))
    for name, (_, route, _, parameters) in document.operations.items():
        for parameter in parameters:
            wrong += [f"{name}: the example {example} of {parameter['name']} is not sent"
                      for example in parameter.get("examples", {}) if example not in of_path[route]]
    return wrong


class Service:
    """`weir serve` on a store of its own, with four callers."""

    def __init__(self, weir, store, folder):
        tokens = folder / "tokens"
        callers = {**{name: (role, "") for name, role in CALLERS.items()}, **BOUND}
        tokens.write_text("".join(f"{name} {role} sha256:{hashlib.sha256(name.encode()).hexdigest()} {space}\n"
                                  for name, (role, space) in callers.items()))
        url = "sqlite:weir.db" if store == "sqlite:" else store
        # The kernel says when a file may not grow, and a signal with it, which would end the service.
        self.process = subprocess.Popen(
            [pathlib.Path(weir).resolve(), "serve", "--listen", "127.0.0.1:0", "--store", url, "--tokens", tokens],
            stdout=subprocess.PIPE, stderr=sys.stderr, text=True, cwd=folder, restore_signals=False,
            preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        line = self.process.stdout.readline()
        self.address = re.search(r"http://([^ ,]+)", line)[1]

    def call(self, method, target, body, headers, caller="alice"):
        """A header whose value is a list is sent once for each."""
        if caller != "none":
            headers = {"Authorization": f"Bearer {caller}", **headers}
        if body is not None:
            headers = {"Content-Length": len(body.encode()), **headers}
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.putrequest(method.upper(), target, skip_accept_encoding=True)
        for name, values in headers.items():
            for value in values if isinstance(values, list) else [values]:
                connection.putheader(name, str(value))
        connection.endheaders(None if body is None else body.encode())
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, text

    def take_store_away(self, away):
        """A file that may not grow stands for a disk that is full."""
        most = 0 if away else resource.RLIM_INFINITY
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


class Scenario:
    """Sends the examples one after the other, and compares."""

    def __init__(self, document, service):
        self.document, self.service = document, service
        self.started, self.began = time.time(), time.monotonic()
        self.known = {}  # ids of examples: what the service made in this run
        self.wrong = []

    def request(self, operation_id, example):
        method, route, operation, parameters = self.document.operations[operation_id]
        query, headers, body = {}, {}, None
        for parameter in parameters:
            examples = parameter.get("examples", {})
            chosen = examples.get(example)
            if chosen is None and parameter.get("required") and parameter["in"] != "header" and examples:
                chosen = next(iter(examples.values()))
            if chosen is None:
                continue
            value = str(self.known.get(chosen["value"], chosen["value"]))
            if parameter["in"] == "path":
                route = route.replace("{%s}" % parameter["name"], urllib.parse.quote(value, safe=""))
            elif parameter["in"] == "query":
                query[parameter["name"]] = value
            else:
                headers[parameter["name"]] = value
        for media, content in operation.get("requestBody", {}).get("content", {}).items():
            if example in content.get("examples", {}):
                body = json.dumps(content["examples"][example]["value"])
                headers["Content-Type"] = media
        return method, route + ("?" + urllib.parse.urlencode(query) if query else ""), body, headers

    def run(self, step):
        operation_id, example = step["run"].split("/")
        operation = self.document.operations[operation_id][2]
        answers = {status: value for name, status, value in self.document.answers() if name == step["run"]}
        status, headers, text = self.service.call(*self.request(operation_id, example), step.get("token", "alice"))
        media = (headers["Content-Type"] or "").split(";")[0]
        value = json.loads(text) if media.endswith("json") else text
        said = lambda what: self.wrong.append(f"{step['run']}: {what}")
        if [str(status)] != ([str(step["status"])] if "status" in step else list(answers)):
            said(f"answered {status}, not {step.get('status') or list(answers)}: {text[:300]}")
            return status, value
        for content in operation.get("requestBody", {}).get("content", {}).values():
            if status == 200 and example in content["examples"]:
                for mistake in self.document.mistakes(content["examples"][example]["value"], content["schema"]):
                    said(f"the request is done, and is not of its schema: {mistake}")
        for mistake in answer_mistakes(self.document, operation, status, headers, media, value):
            said(mistake)
        for expected in answers.values():
            self.compare(said, "", expected, value, {})
        for name, header in self.document.response(operation, status).get("headers", {}).items():
            if example in header.get("examples", {}):
                self.compare(said, name, str(header["examples"][example]["value"]), headers[name], {})
        return status, value

    def compare(self, said, name, expected, actual, within):
        """The same, but for what cannot be known. `within` is the object that it is a member of."""
        elapsed = time.monotonic() - self.began + 1
        if isinstance(expected, dict) and isinstance(actual, dict):
            if list(expected) != list(actual):
                said(f"{name} has {list(actual)}, not {list(expected)}")
            for inner in expected.keys() & actual.keys():
                self.compare(said, inner, expected[inner], actual[inner], actual)
        elif isinstance(expected, list) and isinstance(actual, list):
            if len(expected) != len(actual):
                said(f"{name} has {len(actual)} items, not {len(expected)}")
            for one, other in zip(expected, actual):
                self.compare(said, name, one, other, within)
        elif None in (expected, actual) or type(expected) is bool:
            if expected is not actual:
                said(f"{name} is {actual}, not {expected}")
        elif name in IDS:
            if self.known.setdefault(expected, actual) != actual:
                said(f"{name} is {actual}, and was {self.known[expected]}")
        elif name in MOMENTS or name in LATER:
            if not self.started - 1 <= actual / 1000 or name in MOMENTS and not actual / 1000 <= time.time() + 1:
                said(f"{name} is {actual}, which is not a moment of this run")
        elif name in WRITTEN:
            if calendar.timegm(time.strptime(actual[:19], "%Y-%m-%dT%H:%M:%S")) < int(self.started) - 1:
                said(f"{name} is {actual}, which was before this run")
        elif name in STARTS:
            if actual != time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(self.started)):
                said(f"{name} is {actual}, which is not the day of this run")
        elif name in LEFT:
            concurrent = within.get("kind") == "concurrent"
            refilled = 0 if concurrent else elapsed * within["capacity"] / PERIODS[within["name"][-1]]
            if not expected <= actual <= expected + refilled:
                said(f"{name} of {within['name']} is {actual}, not {expected} to {expected + refilled}")
        elif name in WAITS:
            if not float(expected) - 1000 * elapsed <= float(actual) <= float(expected):
                said(f"{name} is {actual}, not {expected} or a little less")
        elif name in WORDED and isinstance(expected, str):
            self.compare_words(said, name, expected, actual, elapsed)
        elif expected != actual or type(expected) is not type(actual):
            said(f"{name} is {actual!r}, not {expected!r}")

    def compare_words(self, said, name, expected, actual, elapsed):
        pattern = WORDED[name]
        if re.sub(pattern, "N", expected) != re.sub(pattern, "N", actual):
            said(f"{name} is {actual!r}, not {expected!r}")
        # Tokens refill at no more than 1000 a minute in the examples that have this; waits pass.
        slack = 1000 * elapsed if name == "detail" else 1 + elapsed * 1000 / 60
        for one, other in zip(re.findall(pattern, expected), re.findall(pattern, actual)):
            if abs(float(one) - float(other)) > slack:
                said(f"{name} is {actual!r}, far from {expected!r}")


def answer_mistakes(document, operation, status, headers, media, value):
    """What an answer has that its description does not, or the reverse."""
    if str(status) not in operation["responses"] and status not in BY_DEFAULT:
        return [f"{status} is not described: {value}"]
    response = document.response(operation, status)
    content = response.get("content", response.get("x-weir-content", {}))
    if not media and response.get("x-weir-may-have-no-body"):
        content = {}
    if media not in content and (media or content):
        return [f"{status} came as {media!r}, not as {list(content)}"]
    wrong = document.mistakes(value, content[media]["schema"]) if media else []
    described = {name.lower(): document.follow(header) for name, header in response.get("headers", {}).items()}
    for name in headers.keys():
        if name.lower() not in OF_HTTP and name.lower() not in described:
            wrong.append(f"{status} has the header {name}")
    for name, header in described.items():
        if header.get("required") and name not in headers:
            wrong.append(f"{status} lacks the header {name}")
        if name in headers:
            text = headers[name]
            number = header["schema"]["type"] == "integer"
            wrong += document.mistakes(int(text) if number else text, header["schema"])
    return wrong


def probe(document, service):
    """Sends every operation what is wrong in general: what it answers must be described, and the roles be true."""
    wrong = []

    def send(name, what, method, target, body=None, headers=None, caller="alice", expect=None, returned=None):
        status, fields, text = service.call(method, target, body, headers or {}, caller)
        media = (fields["Content-Type"] or "").split(";")[0]
        value = json.loads(text) if media.endswith("json") else text
        found = answer_mistakes(document, document.operations[name][2], status, fields, media, value)
        if expect is not None and status not in expect:
            found.append(f"answered {status}")
        found += [f"{header} is {fields[header]}" for header, value in (returned or {}).items() if fields[header] != value]
        wrong.extend(f"{name}, {what}: {mistake}" for mistake in found)

    for name, (method, route, operation, parameters) in document.operations.items():
        target = re.sub(r"{\w+}", "probe", route)
        body = None if method in ("get", "delete") else "{}"
        send(name, "a namespace that cannot be", method, target, body, {"Weir-Namespace": "No!"}, expect={422})
        send(name, "a broken escape", method, target.replace("probe", "%zz"), body)
        send(name, "a name that cannot be", method, target.replace("probe", "a%20b"), body)
        send(name, "a parameter nobody knows", method, target + "?nobody=knows", body)
        send(name, "an id", method, target, body, {"X-Request-Id": "abc-1"})
        send(name, "a trace", method, target, body, {"traceparent": TRACE}, returned={"traceparent": TRACE})
        send(name, "a trace that is none", method, target, body, {"traceparent": "0" * 55}, returned={"traceparent": None})
        largest = operation.get("x-weir-largest-body", 1024 * 1024)
        send(name, "a large body", method, target, None, {"Content-Length": largest + 1}, expect={413})
        for header in SINGLE:
            send(name, f"{header} twice", method, target, body, {header: ["Bearer alice"] * 2}, expect={400})
        send(name, "another method", "patch", target, expect={405})
        if body:
            for text in ("", "{", "[]", '{"nobody": "knows"}', '{"limits": 1, "limits": 1}', '{"consume": {"rpm": 1e9}}'):
                send(name, f"the body {text}", method, target, text, {"Idempotency-Key": "probe"})
            send(name, "no key", method, target, '{"consume": {"rpm": 1}}')
        free = operation.get("security") == []
        send(name, "no token", method, target, body, caller="none", expect={200} if free else {401})
        role = operation.get("x-weir-role")
        for caller, has in CALLERS.items():
            may = free or has in (role, "admin")
            status, _, _ = service.call(method, target, body, {}, caller)
            if may != (status not in (401, 403)):
                wrong.append(f"{name}: {caller}, who has the role {has}, gets {status}")
    return wrong


def main(weir, root, what, show=None):
    document = Document(root / "docs/openapi.yaml")
    if what == "schema":
        return check_document(document, root)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(weir, what, pathlib.Path(folder))
        try:
            scenario = Scenario(document, service)
            sent, unavailable = 0, False
            for step in document.steps():
                if "store" in step:
                    unavailable = step["store"] == "unavailable"
                    if what == "sqlite:":
                        service.take_store_away(unavailable)
                    continue
                # Memory is never unavailable.
                if unavailable and what != "sqlite:" or step.get("only", what) != what:
                    continue
                status, value = scenario.run(step)
                sent += 1
                if show == step["run"]:
                    print(status, json.dumps(value, indent=1))
                if show == "all":
                    print(json.dumps([step["run"], status, value]))
            served = json.loads(service.call("get", "/openapi.json", None, {}, "none")[2])
            if served != document.tree:
                scenario.wrong.append("/openapi.json is not docs/openapi.yaml")
            wrong = scenario.wrong + probe(document, service)
            print(f"{sent} examples sent")
        finally:
            if (code := service.stop()) != 0:
                print(f"weir ended with {code}")
                sys.exit(1)
    return wrong


def within_a_day(run):
    """Usage is counted by days: repeats a run in which a day of UTC began."""
    while True:
        day = time.gmtime().tm_yday
        result = run()
        if time.gmtime().tm_yday == day:
            return result


if __name__ == "__main__":
    if len(sys.argv) not in (4, 6):
        print(__doc__)
        sys.exit(2)
    mistakes = within_a_day(lambda: main(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], *sys.argv[5:]))
    print(*mistakes, f"{len(mistakes)} wrong", sep="\n")
    sys.exit(1 if mistakes else 0)
