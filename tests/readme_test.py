#!/usr/bin/env python3
"""Types what README.md says, twice, in one terminal and beside one service, and compares what is printed.

    readme_test.py WEIR REPOSITORY

A reader types a tour a second time, with the files and the charges of the first. So both times each block of commands
must print what the block behind it shows, but for what VARIES, and each command must end with 0, or with the exit code
that the comment behind it names first. Blocks that build or install something are not typed: tests/consumer does that.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

# Words that are different every time, and what stands for them.
VARIES = (
    (r"^Date: .*$", "Date: now"),
    (r"^Content-Length: \d+$", "Content-Length: some"),
    (r"^X-Request-Id: weir-\d+$", "X-Request-Id: weir-N"),
    (r'"lease":"w1[\w-]+"', '"lease":"an id"'),
    (r"\b[0-9a-f]{8}-\d+\b", "the id of a decision"),
    (r"\b(key|team)-\d+", r"\1-N"),
    (r"\b(1\d{4}|20000)\b", "a wait of 20 s or less"),
    (r"(?<=^Retry-After: )(1\d|20)$", "the same in seconds"),
    (r"(?<=;t=)(1\d|20)$", "the same in seconds"),
    (r'"remaining":1(\.\d+)?(?=,)', '"remaining":1 and what refilled since'),
    # Tables: the width of columns depends on the names, and a balance refills until the lease is settled.
    (r" +", " "),
    (r"^((?:key|team)-N gpt-4 [rt]pm (?:0|-2,800)) [\d.,]+", r"\1 what is left"),
)
TYPED = ("curl ", "weir ", "build/release/weir ", "export PATH=", "key=", "lease=")
ENDED = re.compile(r"^@@ (\d+)\n", re.MULTILINE)


def blocks(text):
    """The fenced blocks: the language and the content of each."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def comparable(text):
    """Without what varies, and JSON without the line breaks that README.md adds."""
    head, brace, body = text.replace("\r\n", "\n").partition("{")
    text = head + brace + re.sub(r"\n *", "", body)
    for pattern, name in VARIES:
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    return text.strip()


def tours(parts):
    """The blocks that are typed: the commands, and the output that is shown, if any."""
    for (language, commands), (following, shown) in zip(parts, parts[1:] + [("", "")]):
        if language == "sh" and commands.startswith(TYPED):
            yield commands, shown if following == "" else ""


def expected_code(command):
    code = re.search(r"# exit code (\d)", command)
    return int(code[1] if code else 0)


def type_all(terminal, parts):
    """Types every tour into a shell. Returns what went wrong, and how many outputs and commands were compared."""
    wrong, compared, ran = [], 0, 0
    for commands, shown in tours(parts):
        printed = ""
        for command in commands.splitlines():
            terminal.stdin.write(f"{command}\ncode=$?; echo; echo @@ $code\n")
            terminal.stdin.flush()
            while not (ended := ENDED.search(printed)):
                line = terminal.stdout.readline()
                if not line:
                    raise RuntimeError(f"the shell ended at {command}: {printed}")
                printed += line
            printed = printed[:ended.start()]
            ran += 1
            if int(ended[1]) != expected_code(command):
                wrong.append(f"{command}\nends with {ended[1]}: {printed}")
        if not shown:
            continue
        compared += 1
        if comparable(printed) != comparable(shown):
            wrong.append(f"{commands}prints\n{comparable(printed)}\nand not\n{comparable(shown)}")
    return wrong, compared, ran


def start_service(weir, folder):
    process = subprocess.Popen([weir, "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, cwd=folder)
    return process, re.search(r"http://([^ ,]+)", process.stdout.readline())[1]


def in_folder(weir, root, folder):
    (folder / "examples").symlink_to(root / "examples")
    (folder / "build").mkdir()
    (folder / "build/release").symlink_to(weir.parent)
    wrong, compared, ran = [], 0, 0
    service, address = start_service(weir, folder)
    try:
        parts = blocks((root / "README.md").read_text().replace("127.0.0.1:8080", address))
        with subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
                              stderr=subprocess.STDOUT) as terminal:
            # As on a terminal that shows no progress of curl.
            terminal.stdin.write("curl() { command curl --silent --show-error \"$@\"; }\n")
            for time in ("first", "second"):
                found, outputs, commands = type_all(terminal, parts)
                wrong += [f"the {time} time: {what}" for what in found]
                compared += outputs
                ran += commands
            terminal.stdin.close()
    finally:
        service.send_signal(signal.SIGINT)
        if service.wait(60) != 0:
            wrong.append("ctrl-C did not stop it cleanly")
    return wrong, compared, ran


def main(weir, root):
    for name in ("WEIR_STORE", "WEIR_NAMESPACE", "WEIR_SERVER"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:
        wrong, compared, ran = in_folder(weir, root, pathlib.Path(folder))
    print(*wrong, f"{compared} outputs compared, {ran} commands run, {len(wrong)} wrong", sep="\n")
    return 1 if wrong or compared < 10 or ran < 20 else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
