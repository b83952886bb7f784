#!/usr/bin/env python3
"""Holds docs/openapi.yaml to the rules that generated clients need.

    document_test.py REPOSITORY

clients_test.py generates the clients and uses them; this test is quick, and says which rule a change has broken.
"""
import collections
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "service"))
from openapi_test import Document  # noqa: E402

NO_BODY = {("authorize", "200"), ("authorize", "429"), ("authorize", "403")}  # proxies read the status and the headers only
COMPOSED = ("oneOf", "anyOf", "allOf")


def pascal(*words):
    """The words as one name in the style of generated types."""
    parts = re.split(r"[^A-Za-z0-9]+", "_".join(words))
    return "".join(part[:1].upper() + part[1:] for part in parts)


def schemas(node, path=""):
    """Every schema in the document, inner ones too, with where it stands."""
    def inside(schema, at):
        yield at, schema
        for name, inner in schema.get("properties", {}).items():
            yield from inside(inner, f"{at}/{name}")
        for name in ("items", "additionalProperties"):
            if isinstance(schema.get(name), dict):
                yield from inside(schema[name], f"{at}/{name}")
        for name in COMPOSED:
            for index, inner in enumerate(schema.get(name, [])):
                yield from inside(inner, f"{at}/{name}[{index}]")

    if isinstance(node, list):
        for index, inner in enumerate(node):
            yield from schemas(inner, f"{path}[{index}]")
    elif isinstance(node, dict):
        for name, inner in node.items():
            if name == "schema":
                yield from inside(inner, path)
            elif path == "/components" and name == "schemas":
                for schema in inner:
                    yield from inside(inner[schema], f"/components/schemas/{schema}")
            elif name not in ("examples", "x-weir-scenario"):
                yield from schemas(inner, f"{path}/{name}")


def operations_have_one_tag(document):
    declared = [tag["name"] for tag in document.tree["tags"]]
    used = set()
    for name, (_, _, operation, _) in document.operations.items():
        tags = operation.get("tags", [])
        if len(tags) != 1 or tags[0] not in declared:
            yield f"{name}: has the tags {tags}; give it one of {declared}"
        used.update(tags)
    for tag in declared:
        if tag not in used:
            yield f"the tag {tag} has no operation"


def operation_ids_are_names(document):
    """Each becomes a function in every language. Document has refused those that stand twice."""
    for name in document.operations:
        if not re.fullmatch(r"[a-z][A-Za-z0-9]*", name):
            yield f"{name}: write an operationId as a word in camelCase"


def enums_have_a_type_and_no_null(document):
    for at, schema in schemas(document.tree):
        if None in schema.get("enum", []):
            yield f"{at}: null in an enum; write `nullable: true` without it"
        if "enum" in schema and "type" not in schema:
            yield f"{at}: an enum without a type"
        names = schema.get("x-enum-varnames")
        if names is not None and len(names) != len(schema.get("enum", [])):
            yield f"{at}: x-enum-varnames has not one name for each value"


def numbers_have_a_width(document):
    """Without one the Go client reads 32 bits: too few for a moment, and not exact for an amount."""
    widths = {"integer": ("int32", "int64"), "number": ("double",)}
    for at, schema in schemas(document.tree):
        allowed = widths.get(schema.get("type"))
        if allowed and schema.get("format") not in allowed:
            yield f"{at}: write the format, {' or '.join(allowed)}"
        if schema.get("format") == "int32" and at.endswith("_ms"):
            yield f"{at}: milliseconds need int64"


def objects_have_a_name(document):
    """Generators invent names for those without, such as GivenLimitOneOf, and change them as others come."""
    for at, schema in schemas(document.tree):
        named = re.fullmatch(r"/components/schemas/\w+", at)
        part = "/allOf[" in at  # adds to the schema before it
        if not named and not part and ("properties" in schema or any(word in schema for word in COMPOSED)):
            yield f"{at}: move this schema to components/schemas"


def choices_are_told_apart(document):
    """By a discriminator whose values are those of the schemas; or there is at most one object among them."""
    for at, schema in schemas(document.tree):
        if "oneOf" not in schema:
            continue
        references = {choice.get("$ref") for choice in schema["oneOf"]}
        objects = [choice for choice in schema["oneOf"] if document.follow(choice)["type"] == "object"]
        discriminator = schema.get("discriminator")
        if discriminator is None:
            if len(objects) > 1:
                yield f"{at}: needs a discriminator"
            continue
        if set(discriminator["mapping"].values()) != references:
            yield f"{at}: the mapping does not name each choice"
        for value, reference in discriminator["mapping"].items():
            member = discriminator["propertyName"]
            choice = document.follow({"$ref": reference})
            if member not in choice["required"] or choice["properties"][member].get("enum") != [value]:
                yield f"{at}: {reference} must have {member}, as an enum of {value}"


def types_do_not_clash(document):
    """What the generators call types: schemas, the enums of members and parameters, the parameters of a call."""
    types = collections.defaultdict(list)
    for name, schema in document.tree["components"]["schemas"].items():
        types[name.lower()].append(f"the schema {name}")
        parts = [schema, *schema.get("allOf", [])]
        members = {member for part in parts for member, inner in part.get("properties", {}).items() if "enum" in inner}
        for member in members:
            types[pascal(name, member, "Enum").lower()].append(f"the enum {member} of {name}")
    for name, (_, _, _, parameters) in document.operations.items():
        types[pascal(name, "Request").lower()].append(f"the parameters of {name}")
        types[pascal("Api", name, "Request").lower()].append(f"the parameters of {name} in Go")
        for parameter in parameters:
            if "enum" in parameter["schema"]:
                types[pascal(name, parameter["name"], "Enum").lower()].append(f"the enum {parameter['name']} of {name}")
    for tag in document.tree["tags"]:
        types[pascal(tag["name"], "Api").lower()].append(f"the tag {tag['name']}")
    for holders in types.values():
        if len(holders) > 1:
            yield f"the same name: {' and '.join(holders)}"


def constants_do_not_clash(document):
    """The values of all enums that are schemas are constants of one Go package."""
    constants = collections.defaultdict(list)
    for name, schema in document.tree["components"]["schemas"].items():
        for value in schema.get("x-enum-varnames", schema.get("enum", [])):
            constants[re.sub(r"\W", "_", str(value)).upper()].append(name)
    for constant, enums in constants.items():
        if len(enums) > 1:
            yield f"{' and '.join(enums)} both have the constant {constant}; tell them apart with x-enum-varnames"


def answers_have_a_schema(document):
    for name, (_, _, operation, _) in document.operations.items():
        if "default" not in operation["responses"]:
            yield f"{name}: no default response"
        for status, response in operation["responses"].items():
            content = document.follow(response).get("content", {})
            if not content and status != "204" and (name, status) not in NO_BODY:
                yield f"{name}: {status} has no content"
            for media, holder in content.items():
                if "schema" not in holder:
                    yield f"{name}: {status} as {media} has no schema"


def examples_are_of_their_schemas(document):
    """Those of answers, and those of requests that are answered with success: others are wrong on purpose."""
    success = {step for step, status, _ in document.answers() if status.startswith("2")}
    success |= {step["run"] for step in document.steps() if str(step.get("status", "")).startswith("2")}
    for name, (_, _, operation, parameters) in document.operations.items():
        sent = list(parameters) + list(operation.get("requestBody", {}).get("content", {}).values())
        answered = []
        for response in map(document.follow, operation["responses"].values()):
            answered += list(response.get("content", {}).values())
            answered += map(document.follow, response.get("headers", {}).values())
        for holder in sent + answered:
            for example, content in holder.get("examples", {}).items():
                if any(holder is one for one in sent) and f"{name}/{example}" not in success:
                    continue
                for mistake in document.mistakes(content["value"], holder["schema"]):
                    yield f"{name}/{example}: {mistake}"


RULES = (operations_have_one_tag, operation_ids_are_names, enums_have_a_type_and_no_null, numbers_have_a_width,
         objects_have_a_name, choices_are_told_apart, types_do_not_clash, constants_do_not_clash, answers_have_a_schema,
         examples_are_of_their_schemas)


def main(root):
    document = Document(root / "docs/openapi.yaml")
    wrong = [f"{rule.__name__}: {mistake}" for rule in RULES for mistake in rule(document)]
    print(*wrong, f"{len(list(schemas(document.tree)))} schemas, {len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__)
        sys.exit(2)
    sys.exit(main(pathlib.Path(sys.argv[1])))
