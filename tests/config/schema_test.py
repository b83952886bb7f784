#!/usr/bin/env python3
"""Holds docs/limits-file.schema.json against the examples that the reader of limits files is tested with.

    schema_test.py REPOSITORY

Passes if the schema is a schema, accepts every file in good.txt and examples/limits.yaml, and refuses every file in
bad.txt whose title says so.
"""
import json
import pathlib
import re
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """Reads plain scalars as YAML 1.2 does, and editors with it: `yes` is text."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?[0-9]*\.[0-9]+$", "-+.0123456789"),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


def as_json(value):
    """Names are text in JSON, also those that look like numbers."""
    if isinstance(value, dict):
        return {name if isinstance(name, str) else str(name): as_json(inner) for name, inner in value.items()}
    return [as_json(inner) for inner in value] if isinstance(value, list) else value


def examples(path):
    """The title and the text of each example in a file."""
    for part in re.split(r"^=== ", path.read_text(), flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        yield title, "".join(line for line in text.splitlines(True) if not line.startswith(">>> "))


def main(root):
    schema = json.loads((root / "docs/limits-file.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)

    def mistakes(text):
        return [error.message for error in validator.iter_errors(as_json(yaml.load(text, Loader)))]

    failures = []
    accepted = list(examples(root / "tests/config/good.txt"))
    accepted.append(("examples/limits.yaml", (root / "examples/limits.yaml").read_text()))
    for title, text in accepted:
        if found := mistakes(text):
            failures.append(f"{title}: should be accepted: {found}")
    refused = [(title, text) for title, text in examples(root / "tests/config/bad.txt") if title.startswith("schema: ")]
    for title, text in refused:
        if not mistakes(text):
            failures.append(f"{title}: should be refused")
    print(*failures, f"{len(accepted)} to accept, {len(refused)} to refuse, {len(failures)} wrong", sep="\n")
    return 1 if failures or len(accepted) < 2 or not refused else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
