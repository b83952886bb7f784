#!/usr/bin/env python3
"""Generates a client from docs/openapi.yaml, compiles it, and runs a scenario with it against `weir serve`.

    clients_test.py WEIR REPOSITORY FOLDER go|python|typescript

The scenarios are scenario.py, go/scenario.go and typescript/scenario.ts. They make the same calls and expect the same
values. They also read each answer that the document has as an example, and write it again. The client is generated in FOLDER. `./dev test --soak` installs what this test needs; nothing is fetched here.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "service"))
from openapi_test import Document, Service  # noqa: E402

DEBIAN_GO_CODE = "/usr/share/gocode"  # has validator.v2, which the Go client imports


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def answers(document):
    """The examples of answers whose schemas have names."""
    for name, (_, _, operation, _) in document.operations.items():
        for response in map(document.follow, operation["responses"].values()):
            for media in response.get("content", {}).values():
                if "$ref" in media["schema"]:
                    schema = media["schema"]["$ref"].rpartition("/")[2]
                    for example, content in media.get("examples", {}).items():
                        yield {"name": f"{name}/{example}", "schema": schema, "value": content["value"]}


class Client:
    """A language: how its client is generated and compiled, and the command that runs its scenario."""

    def __init__(self, root, folder, examples):
        self.venv, self.document, self.folder = root / "build/venv/clients/bin", root / "docs/openapi.yaml", folder
        self.schemas = sorted({example["schema"] for example in examples})

    def generate(self, generator, output, *options):
        program = self.venv / "openapi-generator-cli"
        if not program.exists():
            sys.exit(f"{program} is missing; ./dev test --soak installs it")
        run(program, "generate", "-i", self.document, "-g", generator, "-o", self.folder / output, *options,
            stdout=subprocess.DEVNULL)


class Python(Client):
    def build(self):
        self.generate("python", "generated", "--package-name", "weir_client")
        os.environ["PYTHONPATH"] = str(self.folder / "generated")
        run(self.venv / "python", "-m", "compileall", "-q", self.folder / "generated/weir_client")
        run(self.venv / "python", "-c", "import importlib, pkgutil, weir_client\n"
            "for module in pkgutil.walk_packages(weir_client.__path__, 'weir_client.'):\n"
            "    importlib.import_module(module.name)")
        return [self.venv / "python", here / "scenario.py"]


class TypeScript(Client):
    def build(self):
        self.generate("typescript-fetch", "client")
        for name in ("scenario.ts", "tsconfig.json"):
            shutil.copy(here / "typescript" / name, self.folder)
        compiler = here / "typescript/node_modules/typescript/bin/tsc"
        if not compiler.exists():
            sys.exit(f"{compiler} is missing; ./dev test --soak installs it")
        run("node", compiler, "-p", self.folder)
        return ["node", self.folder / "out/scenario.js"]


class Go(Client):
    def build(self):
        self.generate("go", "src/weir", "--package-name", "weir")
        shutil.rmtree(self.folder / "src/weir/test")  # needs testify; its tests are empty
        (self.folder / "src/scenario").mkdir()
        shutil.copy(here / "go/scenario.go", self.folder / "src/scenario")
        # Go has no types by name.
        types = "".join(f'\t"{name}": func() interface{{}} {{ return new(weir.{name}) }},\n' for name in self.schemas)
        (self.folder / "src/scenario/types.go").write_text(
            f'package main\n\nimport "weir"\n\nvar types = map[string]func() interface{{}}{{\n{types}}}\n')
        # Modules would be fetched. Debian has the packages of Go as sources in a GOPATH.
        os.environ.update(GO111MODULE="off", GOFLAGS="", GOTOOLCHAIN="local", GOPATH=f"{self.folder}:{DEBIAN_GO_CODE}",
                          GOCACHE=str(self.folder.parent / "go-cache"))
        run("go", "version")
        run("go", "vet", "weir", "scenario")
        run("go", "build", "-o", self.folder / "scenario", "scenario")
        return [self.folder / "scenario"]


LANGUAGES = {"go": Go, "python": Python, "typescript": TypeScript}


def main(weir, root, folder, language):
    folder = folder / language
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    examples = list(answers(Document(root / "docs/openapi.yaml")))
    command = LANGUAGES[language](root, folder, examples).build()
    (folder / "examples.json").write_text(json.dumps(examples))
    with tempfile.TemporaryDirectory() as store:
        service = Service(weir, "memory:", pathlib.Path(store))
        try:
            run(*command, f"http://{service.address}", "alice", folder / "examples.json", timeout=60)
        finally:
            code = service.stop()
    return code


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[4] not in LANGUAGES:
        print(__doc__)
        sys.exit(2)
    try:
        sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve(), sys.argv[4]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"failed: {error}")
