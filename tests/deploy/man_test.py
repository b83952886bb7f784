#!/usr/bin/env python3
"""The manual page: sound, and with every command and option of the program, and no others.

    man_test.py WEIR REPOSITORY

Ends with 77 where there is no mandoc.
"""
import pathlib
import re
import shutil
import subprocess
import sys


def section(text, name):
    found = re.search(rf"^{name}:\n((?:  .*\n)*)", text, re.MULTILINE)
    return found[1] if found else ""


def options(text):
    """The options in a section of help: each line that starts with one, in all its spellings."""
    lines = re.findall(r"^ {2,6}(-[^ ,]+(?:, --[\w-]+)?)(?= |$)", text, re.MULTILINE)
    return {spelling for line in lines for spelling in line.split(", ")}


def commands(weir, words=()):
    """Every command, with its options; those of all commands belong to ()."""
    text = subprocess.run([weir, *words, "--help"], capture_output=True, text=True, check=True).stdout
    found = options(section(text, "Options"))
    yield words, found | options(section(text, "Common options")) if not words else found - {"-h", "--help"}
    for name in re.findall(r"^  ([a-z-]+)  ", section(text, "Commands"), re.MULTILINE):
        yield from commands(weir, (*words, name))


def described(page):
    """The commands that the page has subsections for, with the options in each."""
    parts = {(): re.search(r"^\.Sh OPTIONS\n(.*?)^\.Sh ", page, re.MULTILINE | re.DOTALL)[1]}
    for name, text in re.findall(r"^\.Ss ([^\n]*)\n(.*?)(?=^\.S[hs] )", page, re.MULTILINE | re.DOTALL):
        parts[tuple(name.split())] = text
    return {name: {"-" + word for line in re.findall(r"^\.(?:It )?Fl .*$", text, re.MULTILINE)
                   for word in re.findall(r"(?:Fl|,) (-?[a-z][\w-]*)", line)}
            for name, text in parts.items()}


def main(weir, root):
    if shutil.which("mandoc") is None:
        print("man: mandoc is missing; it is in the package mandoc")
        return 1
    page = root / "docs/man/weir.1"
    lint = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], capture_output=True, text=True, check=False)
    wrong = lint.stdout.splitlines()
    here, there = dict(commands(weir)), described(page.read_text())
    for name, known in here.items():
        words = " ".join(("weir", *name))
        if name not in there:
            wrong.append(f"{words} is not described")
            continue
        wrong += [f"{words}: {option} is not described" for option in sorted(known - there[name])]
        wrong += [f"{words}: there is no {option}" for option in sorted(there[name] - known)]
    wrong += [f"there is no command {' '.join(name)}" for name in there.keys() - here.keys()]
    print(*wrong, f"{len(here)} commands, {sum(map(len, here.values()))} options, {len(wrong)} wrong", sep="\n")
    return 1 if wrong or len(here) < 20 else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])))
