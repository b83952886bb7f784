#!/usr/bin/env python3
"""Does what README.md says, with a service and with the command line, and compares what is printed.

    readme_test.py WEIR REPOSITORY

Each block of curl commands must print what the block behind it shows, but for what VARIES. Each `weir` command must end
with 0, or with the exit code that the comment behind it names first.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

# What is different every time, and what stands for it.
VARIES = (
    (r"^Date: .*$", "Date: now"),
    (r"^Content-Length: \d+$", "Content-Length: some"),
    (r'"lease":"w1[\w-]+"', '"lease":"an id"'),
    (r"\b(1\d{4}|20000)\b", "a wait of 20 s or less"),
    (r"(?<=^Retry-After: )(1\d|20)$", "the same in seconds"),
    (r"(?<=;t=)(1\d|20)$", "the same in seconds"),
    (r'"remaining":1(\.\d+)?(?=,)', '"remaining":1 and what refilled since'),
)


def blocks(text):
    """The fenced blocks: the language and the content of each."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def comparable(text):
    """Without what varies, and JSON on one line."""
    head, brace, body = text.replace("\r\n", "\n").partition("{")
    if brace:
        body = json.dumps(json.loads(brace + body), separators=(",", ":"))
    text = head + body
    for pattern, name in VARIES:
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    return text.strip()


def served(weir, folder, parts):
    """The curl commands, on a service whose port is free."""
    process = subprocess.Popen([weir, "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, cwd=folder)
    wrong, compared = [], 0
    try:
        address = re.search(r"http://([^ ,]+)", process.stdout.readline())[1]
        for (language, command), (_, shown) in zip(parts, parts[1:]):
            if language != "sh" or not command.startswith("curl "):
                continue
            command = command.replace("127.0.0.1:8080", address)
            printed = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True).stdout
            compared += 1
            if comparable(printed) != comparable(shown):
                wrong.append(f"{command}prints\n{comparable(printed)}\nand not\n{comparable(shown)}")
    finally:
        process.send_signal(signal.SIGINT)
        if process.wait(60) != 0:
            wrong.append("ctrl-C did not stop it cleanly")
    return wrong, compared


def typed(weir, root, folder, parts):
    """The commands of the program, where the examples are beside it."""
    (folder / "examples").symlink_to(root / "examples")
    (folder / "build").mkdir()
    (folder / "build/release").symlink_to(weir.parent)
    wrong, ran = [], 0
    for language, text in parts:
        if language != "sh" or "\nweir " not in text:
            continue
        settings = "".join(line + "\n" for line in text.splitlines() if line.startswith("export "))
        for line in text.splitlines():
            if not line.startswith("weir "):
                continue
            code = re.search(r"# exit code (\d)", line)
            done = subprocess.run(["bash", "-c", settings + line], capture_output=True, text=True, cwd=folder, timeout=60,
                                  check=False)
            ran += 1
            if done.returncode != int(code[1] if code else 0):
                wrong.append(f"{line}: ends with {done.returncode}: {done.stdout}{done.stderr}")
    return wrong, ran


def main(weir, root):
    for name in ("WEIR_STORE", "WEIR_NAMESPACE", "WEIR_SERVER"):
        os.environ.pop(name, None)
    parts = blocks((root / "README.md").read_text())
    with tempfile.TemporaryDirectory() as folder:
        wrong, compared = served(weir, folder, parts)
        more, ran = typed(weir, root, pathlib.Path(folder), parts)
    print(*wrong, *more, f"{compared} answers compared, {ran} commands run, {len(wrong + more)} wrong", sep="\n")
    return 1 if wrong or more or compared < 3 or ran < 5 else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
