"""The command on a system that lacks what only Unix has, prints in an old encoding, and has a folder with an odd name."""

from __future__ import annotations

import os
import subprocess
import sys

BARE = """
import os, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_DIRECTORY", "O_NOFOLLOW", "geteuid", "getuid", "fork"):
    if hasattr(os, name):
        delattr(os, name)
from renyi.cli.main import app
for line in sys.stdin.read().splitlines():
    try:
        app(line.split("\\t"), standalone_mode=False)
    except SystemExit as end:
        assert end.code in (None, 0), (line, end.code)
"""


def on_a_bare_system(folder, script, lines=()):
    """What a program prints there; nothing may stand beside a traceback."""
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-W", "error", "-c", script],
        input="\n".join("\t".join(line) for line in lines).encode("cp1252"),
        capture_output=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode("cp1252")
    return done.stdout.decode("cp1252")


def test_the_command_works_without_fcntl_in_an_old_encoding_and_an_odd_folder(tmp_path):
    folder = tmp_path / "Büro von Zoë, nº 1"
    folder.mkdir()
    run = ["--noise-multiplier", "1.1", "--rate", "256/60000", "--steps", "14063", "--delta", "1e-5"]
    lines = [
        ["epsilon", *run],
        ["epsilon", "--help"],
        ["report", *run, "--form", "html", "--out", "Erklärung.html"],
        ["report", *run, "--form", "json", "--out", "Erklärung.json"],
        ["epsilon", "--event", "Erklärung.json", "--delta", "1e-5"],
        ["ledger", "init", "Register", "--epsilon", "1", "--delta", "1e-6", "--ledger", "Bücher.db"],
        ["ledger", "spend", "--mechanism", "laplace:noise_multiplier=20", "--why", "Zählung", "--ledger", "Bücher.db"],
        ["ledger", "backup", "Kopie.db", "--ledger", "Bücher.db"],
        ["ledger", "verify", "--ledger", "Kopie.db"],
        ["ledger", "history", "--ledger", "Kopie.db"],
    ]
    printed = on_a_bare_system(folder, BARE, lines)
    assert printed.count("2.38169") == 2
    assert "Zählung" in printed
    assert {path.name for path in folder.iterdir()} >= {"Erklärung.html", "Erklärung.json", "Bücher.db", "Kopie.db"}


def test_a_journal_says_what_it_needs(tmp_path):
    script = BARE.split("from renyi.cli")[0] + (
        "import renyi\n"
        "from renyi.ledger import Journal\n"
        "try:\n"
        "    Journal('run.jsonl')\n"
        "except renyi.PrivacyError as error:\n"
        "    print(error)\n"
    )
    assert "need Linux or macOS" in on_a_bare_system(tmp_path, script)
    assert list(tmp_path.iterdir()) == []
