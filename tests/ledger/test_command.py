"""``renyi ledger``: a budget on the command line, its exit codes, and errors that say what to do."""

from __future__ import annotations

import json
import re
import sqlite3

import pytest
from typer.testing import CliRunner

from renyi import Filter, Laplace, plots
from renyi.cli.main import app
from renyi.ledger import Ledger

COUNT = ["--mechanism", "laplace:noise_multiplier=10"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command in a directory of its own, where budget.db is the ledger."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RENYI_LEDGER", raising=False)

    def invoke(*arguments, code=0):
        done = CliRunner().invoke(app, ["ledger", *arguments])
        assert done.exit_code == code, done.stderr
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done

    return invoke


@pytest.fixture
def census(run):
    run("init", "census", "--epsilon", "1", "--delta", "1e-6", "--unit", "person", "--who", "ada")
    return run


def test_a_year_in_the_life_of_a_budget(census):
    run = census
    receipt = run("spend", *COUNT, "--key", "q1", "--who", "ada", "--why", "counts by district")
    assert run("spend", *COUNT, "--key", "q1").stdout == receipt.stdout
    assert "charged before" in run("spend", *COUNT, "--key", "q1").stderr
    run("allot", "0.25", "--team", "blue")
    run("allot", "0.25", "--team", "red")
    assert (
        run("allot", "0.1", "--from-team", "blue", "--team", "red").stdout == "all 1\nteam:blue 3/20\nteam:red 7/20\n"
    )
    assert int(run("what-if", *COUNT).stdout) == 8  # ten tenths, each rounded up, are more than one
    assert int(run("what-if", *COUNT, "--team", "blue").stdout) == 1
    status = json.loads(run("status", "--exact", "--json").stdout)
    assert [each["account"] for each in status["accounts"]] == ["all", "team:blue", "team:red"]
    assert status["had it been fixed in advance"]["epsilon"] <= 0.1
    assert "person" in run("status").stderr
    history = run("history").stdout.splitlines()
    assert len(history) == 5
    assert "ada: spend Laplace noise (multiplier 10) (counts by district)" in history[1]
    assert [line.partition(": ")[2] for line in history[2:4]] == ["allot 1/4 to team:blue", "allot 1/4 to team:red"]
    assert history[4].endswith("transfer 1/10 from team:blue to team:red")
    over_time = json.loads(run("history", "--spent", "--start", "1", "--json").stdout)["entries"]
    assert [each["spent"]["all"] for each in over_time] == [status["accounts"][0]["used"]] * 4
    assert run("history", "--spent").stdout.splitlines()[0].endswith("the unit is one person | all 0 %")
    assert (
        json.loads(run("history", "--start", "1", "--most", "1", "--json").stdout)["entries"][0]["note"]["who"] == "ada"
    )
    assert run("verify", "--head", receipt.stdout.strip()).stdout.startswith("census 4:")


def test_a_refused_release_is_exit_code_6_and_is_not_written(census):
    done = census("spend", "--mechanism", "laplace:noise_multiplier=0.5", code=6)
    assert "Laplace noise (multiplier 0.5). By itself it costs epsilon 2 as this budget counts, " in done.stderr
    assert "nothing may be released" in done.stderr
    assert done.stdout == ""
    assert census("what-if", "--mechanism", "laplace:noise_multiplier=0.5").stdout == "0\n"
    assert len(census("history").stdout.splitlines()) == 1


def test_history_says_what_became_of_a_reservation_and_who_pays(run, tmp_path):
    with Ledger.open(tmp_path / "budget.db", who="ada") as ledger:
        ledger.create("census", Filter(epsilon=1.0, delta=1e-6), parts=("north", "south"))
        ledger.allot(0.5, team="blue")
        held = ledger.reserve(Laplace(50.0) * 3, team="blue", part="north")
        ledger.draw(held)
        ledger.commit(held, Laplace(50.0))
        ledger.void(ledger.reserve(Laplace(50.0)))
        ledger.book(Laplace(50.0), delta=1e-8)
    said = [line.partition("ada: ")[2] for line in run("history").stdout.splitlines()[2:]]
    assert said == [
        "reserve 3 releases of Laplace noise (multiplier 50) team:blue part:north",
        "draw 2",
        "commit 2, of which was released: Laplace noise (multiplier 50)",
        "reserve Laplace noise (multiplier 50)",
        "void 5",
        "spend Laplace noise (multiplier 50), booked whole at epsilon 0.02",
    ]


def test_a_plan_is_booked_whole(census):
    plan = ["--noise-multiplier", "20", "--steps", "10", "--whole-at", "1e-8"]
    assert int(census("what-if", *plan).stdout) == 1
    census("spend", *plan)
    assert int(census("what-if", *plan).stdout) == 0
    (_, line) = json.loads(census("history", "--json").stdout)["entries"]
    assert line["booked"][1] == 1e-8


def test_copies_and_exports(census, tmp_path):
    census("spend", *COUNT)
    heads = census("verify").stdout
    assert census("backup", "copy.db").stdout == heads
    assert census("export", "census.jsonl").stdout == "2\n"
    read = census("import", "census.jsonl", "--ledger", "other.db")
    assert read.stdout == heads
    assert "1 dataset was read from census.jsonl" in read.stderr
    assert census("verify", "--ledger", "other.db").stdout == heads
    assert "Name a new file" in census("export", "census.jsonl", code=2).stderr
    assert "Name a new file" in census("backup", "copy.db", code=2).stderr


def test_a_note_is_erased_once_and_its_entry_stays(census):
    census("spend", *COUNT, "--who", "Grace Hopper")
    heads = census("verify").stdout
    assert "backups" in census("erase", "1").stderr
    assert census("verify").stdout == heads
    assert "Grace Hopper" not in census("history").stdout
    assert "it was erased before" in census("erase", "1", code=2).stderr
    assert "erased before, or never was" in census("erase", "17", code=2).stderr


def test_a_plot_shows_every_account_and_its_cap(census, tmp_path):
    census("allot", "0.25", "--team", "blue")
    census("spend", *COUNT, "--team", "blue")
    census("spend", *COUNT)
    done = census("plot", "--out", "budget.svg")
    assert "% of a budget of (1, 1e-06)-differential privacy" in done.stderr
    assert (tmp_path / "budget.svg").stat().st_size > 1000
    with Ledger.open(tmp_path / "budget.db") as ledger:
        lines = [line.get_xydata() for line in plots.budget_over_time(ledger).lines]
        used = [spent.used * float(spent.share) for spent in ledger.status().accounts]
    assert [tuple(line[-1]) for line in lines[:2]] == [(3, 100 * used[0]), (3, 100 * used[1])]
    assert [line[-1][1] for line in lines[2:]] == [100, 25]


@pytest.mark.parametrize("budget", [["--rho", "0.5"], ["--mu", "0.5"]])
def test_budgets_of_rho_and_mu(run, budget):
    run("init", "census", *budget, "--delta", "1e-6", "--part", "north", "--part", "south")
    run("spend", "--noise-multiplier", "5", "--part", "north")
    assert float(run("status").stdout.split()[1]) > 0


def test_status_shows_every_part_when_asked(run):
    run("init", "census", "--rho", "0.5", "--delta", "1e-6", *(f"--part={part}" for part in ("north", "south", "west")))
    run("allot", "0.5", "--team", "blue")
    run("spend", "--noise-multiplier", "5", "--part", "south")
    run("spend", "--noise-multiplier", "10", "--part", "north", "--team", "blue")
    run("spend", "--noise-multiplier", "10", "--team", "blue")
    shown = [
        "all: 5 % of 1 used",
        "all, part north: 2 % of 1 used",
        "all, part south: 5 % of 1 used",
        "all, part west: 1 % of 1 used",
        "team:blue: 4 % of 1/2 used",
        "team:blue, part north: 4 % of 1/2 used",
        "team:blue, part south: 2 % of 1/2 used",
        "team:blue, part west: 2 % of 1/2 used",
    ]
    rounded = re.sub(r"(\d)\.0000\d*", r"\1", run("status", "--parts").stdout)
    assert rounded.splitlines() == shown
    assert len(run("status").stdout.splitlines()) == 2
    (everything, _) = json.loads(run("status", "--json").stdout)["accounts"]
    assert everything["parts"]["south"] == everything["used"] > everything["parts"]["north"]


def test_an_expected_event_makes_room_for_more_of_it(run, tmp_path):
    from renyi import Gaussian, Poisson

    step = Gaussian(1.0).on(Poisson(0.001))
    (tmp_path / "step.json").write_text(step.to_json())
    options = ["--epsilon", "2", "--delta", "1e-6"]
    run("init", "any", *options)
    run("init", "steps", *options, "--expected", "step.json")
    left = [int(run("what-if", "--event", "step.json", "--dataset", name).stdout) for name in ("any", "steps")]
    assert left[0] < left[1]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["init", "survey", "--delta", "1e-6"], 2, "one of --epsilon"),
        (["init", "census", "--epsilon", "2", "--delta", "1e-6"], 2, "exists already"),
        (["spend", *COUNT, "--dataset", "cencus"], 2, "Known: census"),
        (["spend", *COUNT, "--team", "blue"], 2, "no account team:blue"),
        (["allot", "0.1", "--from-team", "blue", "--team", "red"], 2, "a share first, which may be 0 where"),
        (["spend", *COUNT, "--part", "north"], 2, "not a part"),
        (["spend"], 2, "say what was released"),
        (
            ["spend", "--mechanism", "approximate_dp:epsilon=0.1,delta=1e-9,adjacency=replace-one"],
            3,
            "about replace-one",
        ),
        (["status", "--ledger", "missing.db"], 2, "renyi ledger init"),
        (["status", "--ledger", "postgresql://ada:s3cr3t@127.0.0.1:1/x"], 8, "127.0.0.1"),
        (["verify", "--head", "17"], 2, "NUMBER:HASH"),
        (["verify", "--head", "17:" + "0" * 64], 7, "truncated"),
        (["import", "missing.jsonl"], 2, "No such file"),
        (["status", "--ledger", "newer.db"], 2, "Use the release that made them"),
        (["spend", *COUNT, "--ledger", "prose.db"], 2, "is not a ledger"),
    ],
)
def test_what_goes_wrong_is_said_with_its_exit_code(census, tmp_path, arguments, code, said):
    (tmp_path / "prose.db").write_text("It was a dark and stormy night. " * 50)
    newer = sqlite3.connect(tmp_path / "newer.db", isolation_level=None)
    newer.executescript("CREATE TABLE renyi_schema (version INTEGER); INSERT INTO renyi_schema VALUES (99)")
    newer.close()
    done = census(*arguments, code=code)
    assert said in done.stderr
    assert "s3cr3t" not in done.stderr
    assert done.stderr.startswith(f"renyi ledger {arguments[0]}: ")


def test_a_tampered_file_is_exit_code_7(census, tmp_path):
    connection = sqlite3.connect(tmp_path / "budget.db")
    connection.execute("UPDATE renyi_heads SET balance = replace(balance, '0', '1')")
    connection.commit()
    connection.close()
    assert "changed afterwards" in census("spend", *COUNT, code=7).stderr
    census("verify", code=7)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}\n",
        b'{"format":"renyi-ledger","version":2}\n',
        b'{"format":"renyi-ledger","version":1}\n',
        b'{"format":"renyi-ledger","version":1}\n' + b"[" * 100_000 + b"\n",
        b'{"format":"renyi-ledger","version":1}\n' + b"x" * 4_000_000,
        b'{"format":"renyi-ledger","version":1}\n{"heads":{}}\nmore\n',
        b"\xff\xfe\n",
    ],
    ids=range(8),
)
def test_a_hostile_file_is_refused_and_leaves_nothing(census, tmp_path, text):
    (tmp_path / "hostile.jsonl").write_bytes(text)
    done = CliRunner().invoke(app, ["ledger", "import", "hostile.jsonl"])
    assert done.exit_code in (2, 7)
    assert done.stderr.startswith("renyi ledger import: ")
    assert census("verify").stdout.count("\n") == 1
    census("import", "hostile.jsonl", "--ledger", "new.db", code=done.exit_code)
    assert not list(tmp_path.glob("new.db*"))


def test_a_forged_price_is_not_imported(census, tmp_path):
    """A chain can be forged from its beginning; what it says must still be possible."""
    with Ledger.open(tmp_path / "forged.db") as ledger:
        ledger.create("forged", Filter(epsilon=1.0, delta=1e-6))
        cheap = ledger._charge("forged", Laplace(10.0), None, None, None)
        from dataclasses import replace

        from renyi.ledger.book.acts import Spend

        dear = replace(cheap, event=Laplace(1.0))
        ledger._write("forged", Spend(dear), ledger._note(None))
        ledger.export(tmp_path / "forged.jsonl")
    assert "less than its event costs" in census("import", "forged.jsonl", code=7).stderr
    assert "forged" not in census("verify").stdout


def test_what_others_wrote_cannot_move_the_cursor(census):
    census("spend", *COUNT, "--why", "\x1b[2Jgone")
    assert "\x1b" not in census("history").stdout
