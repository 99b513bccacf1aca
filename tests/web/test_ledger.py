"""The ledger on the page: what it shows is what the ledger holds, and nothing is written without the token."""

from __future__ import annotations

from html import unescape
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from renyi import Filter, Gaussian, Laplace, Ledger, Poisson
from renyi.cli.main import app as command
from renyi.errors import InvalidInput
from renyi.numerics.printing import rounded_up
from renyi.web import workers
from renyi.web.app import create_app
from renyi.web.ledger.asking import ask as worker
from renyi.web.ledger.fields import LONGEST, Charging
from renyi.web.site import Settings
from tests.web.conftest import HOST, TOKEN, filled

COUNT = {"noise": "", "more": "laplace:noise_multiplier=40"}


@pytest.fixture
def post(page):
    """Charges what a form of the page would."""

    def send(origin=f"http://{HOST}", token=TOKEN, **fields):
        fields = {"budget": "clinics", **COUNT, "token": token, **fields}
        headers = {"content-type": "application/x-www-form-urlencoded"} | ({"origin": origin} if origin else {})
        return page.post("/ledger/spend", content=urlencode(fields), headers=headers)

    return send


def entries(page, dataset="clinics"):
    with Ledger.open(page.where, create=False) as ledger:
        return list(ledger.history(dataset))


def test_a_budget_is_shown_with_what_is_left_what_waits_and_its_history(page, ask):
    text = unescape(ask("/ledger").text)
    with Ledger.open(page.where, create=False) as ledger:
        status = ledger.status("census")
    assert f"{rounded_up(100.0 * status.accounts[0].used)} %" in text
    assert str(status.accounts[0].odometer)[1:] in text
    assert str(status.dataset.filter)[1:] in text
    assert status.head in text
    assert page.where in text
    for words in (
        "census",
        "clinics",
        "team:health",
        "agreed in March",
        "ada",
        "Laplace noise (multiplier 100)",
        "part north",
    ):
        assert words in text
    assert "&lt;b&gt;counts" in ask("/ledger").text
    assert "nothing is kept" not in text
    assert "0.5" in ask("/ledger", budget="clinics").text


def test_what_is_left_is_rounded_down_and_adds_up(tmp_path):
    found = worker("book", filled(tmp_path / "budget.db"), {})
    for account in found["accounts"]:
        assert float(account["left"]) + float(account["used"]) <= 100.0 + 1e-4
        assert float(account["used"]) < 100.0
    assert [line["entry"] for line in found["lines"]] == [3, 2, 1, 0]
    assert (found["older"], found["newer"]) == (None, None)


def test_acts_without_a_release_and_each_part_are_shown_in_the_words_of_the_command(tmp_path):
    where = str(tmp_path / "budget.db")
    with Ledger.open(where, who="ada") as ledger:
        ledger.create("census", Filter(epsilon=1.0, delta=1e-6), parts=["north", "south"])
        ledger.allot(0.5, team="health")
        ledger.spend(Laplace(4.0), part="north")
    found = worker("book", where, {})
    assert [row["name"] for row in found["accounts"]] == [
        "the whole dataset",
        "part north",
        "part south",
        "team:health",
    ]
    assert [row["used"] for row in found["accounts"]] == ["25", "25", "0", "0"]
    shown = CliRunner().invoke(command, ["ledger", "history", "--ledger", where]).stdout
    for line in found["lines"][1:]:
        assert line["act"] in shown
    assert found["lines"][1]["act"] == "allot 1/2 to team:health"


def test_a_long_history_is_shown_in_pages(tmp_path):
    where = str(tmp_path / "budget.db")
    with Ledger.open(where, who="ada") as ledger:
        ledger.create("census", Filter(epsilon=1.0, delta=1e-6))
        for share in range(1, 61):
            ledger.allot(share / 100, team="health")
    last = worker("book", where, {})
    assert [line["entry"] for line in last["lines"]] == list(range(60, 10, -1))
    first = worker("book", where, {"start": str(last["older"])})
    assert [line["entry"] for line in first["lines"]] == list(range(49, -1, -1))
    assert first["older"] is None
    assert worker("book", where, {"start": str(first["newer"])})["lines"] == last["lines"]
    assert worker("book", where, {"start": "inf"})["lines"] == last["lines"]
    with pytest.raises(InvalidInput, match="not a number"):
        worker("book", where, {"start": "x"})


def test_what_if_is_the_ledgers_answer_and_writes_nothing(page, ask):
    before = entries(page, "census")
    fits = unescape(ask("/ledger", **COUNT, budget="census").text)
    with Ledger.open(page.where, create=False) as ledger:
        left = ledger.what_if(Laplace(40.0), dataset="census").left
        run = Gaussian(5.0).on(Poisson(0.01)) * 100
        assert ledger.what_if(run, dataset="census", delta=1e-9).admitted
    assert "It fits" in fits
    assert f"about this price: {left}." in fits
    assert "Charge it" in fits
    refused = unescape(ask("/ledger", noise="", more="laplace:noise_multiplier=0.1").text)
    assert "It does not fit" in refused
    assert "Charge it" not in refused
    whole = ask("/ledger", by="rate", noise="5", rate="0.01", steps="100", whole_at="1e-9", budget="census").text
    assert "It fits" in whole
    assert entries(page, "census") == before


def test_a_charge_with_the_token_is_written_once_under_its_key(page, post):
    before = len(entries(page))
    done = post(key="june", who="grace", why="ages")
    assert done.status_code == 200
    (line,) = entries(page)[before:]
    assert line.act.charge.event == Laplace(40.0)
    assert (line.note["who"], line.note["why"]) == ("grace", "ages")
    assert f"{line.sequence}:{line.hash}" in done.text
    again = post(key="june", who="grace", why="ages")
    assert "Charged before, under this key" in again.text
    other = post(key="june", more="laplace:noise_multiplier=50")
    assert other.status_code == 409
    assert "Not charged" in other.text
    assert len(entries(page)) == before + 1


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"token": ""}, 403),
        ({"token": TOKEN + "x"}, 403),
        ({"token": "ü"}, 403),
        ({"origin": None}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"more": "laplace:noise_multiplier=0.001"}, 409),
        ({"more": "laplace:noise_multiplier=x"}, 422),
        ({"more": ""}, 422),
        ({"budget": "nowhere"}, 422),
        ({"team": "strangers"}, 422),
        ({"key": "a" * (LONGEST + 1)}, 422),
        ({"nonsense": "1"}, 422),
    ],
)
def test_nothing_is_charged_otherwise(page, post, changed, status):
    before = len(entries(page))
    assert post(**changed).status_code == status
    assert len(entries(page)) == before


def test_what_is_posted_is_a_form_of_bounded_size(page):
    headers = {"origin": f"http://{HOST}", "content-type": "application/json"}
    assert page.post("/ledger/spend", content=b"{}", headers=headers).status_code == 422
    headers["content-type"] = "application/x-www-form-urlencoded"
    assert page.post("/ledger/spend", content=b"&".join([b"a=1"] * 99), headers=headers).status_code == 422
    assert page.post("/ledger/spend", content=b"token=a&token=b", headers=headers).status_code == 422
    assert page.post("/ledger/spend", content=b"\xff", headers=headers).status_code == 422
    assert page.get("/ledger/spend").status_code == 405
    assert page.post("/ledger", content=b"", headers=headers).status_code == 405


def test_a_link_cannot_write_the_words_of_a_charge(ask):
    text = ask("/ledger", **COUNT, budget="census", who="mallory", why="a lie", key="week 1").text
    for word in ("mallory", "a lie", 'value="week 1"'):
        assert word not in text


def without_workers(**settings):
    """A server whose workers are never started: what it says here, it says by itself."""
    app = create_app(Settings(frozenset({HOST}), **settings))
    return TestClient(app, base_url=f"http://{HOST}")


def test_without_a_token_the_page_reads_only_and_without_a_ledger_it_says_how(page):
    headers = {"origin": f"http://{HOST}", "content-type": "application/x-www-form-urlencoded"}
    reading = without_workers(ledger=page.where)
    assert "--token" in reading.post("/ledger/spend", content=b"token=", headers=headers).text
    assert reading.post("/ledger/spend", content=b"token=", headers=headers).status_code == 403
    none = without_workers()
    for answer in (none.get("/ledger"), none.get("/ledger/spent")):
        assert answer.status_code == 404
        assert "renyi serve --ledger" in answer.text
    assert none.post("/ledger/spend", content=b"token=", headers=headers).status_code == 403


def test_the_plot_of_how_it_was_spent_is_the_ledgers(ask):
    text = ask("/ledger/spent", budget="census").text
    assert 'class="curve series-1"' in text
    assert "team:health" in text
    assert "Thin lines are caps" in text
    assert ask("/ledger/spent", budget="nowhere").status_code == 422


def test_an_empty_ledger_says_how_to_begin(tmp_path):
    Ledger.open(tmp_path / "empty.db").close()
    assert worker("book", str(tmp_path / "empty.db"), {})["empty"]


def test_passwords_are_never_shown():
    secret = "correct-horse"
    settings = Settings(frozenset({HOST}), ledger=f"postgresql+psycopg://ada:{secret}@127.0.0.1:9/b", token=secret)
    assert secret not in repr(settings)
    with pytest.raises(Exception, match="could not be used") as raised:
        worker("book", settings.ledger, {})
    assert secret not in str(raised.value)
    done = CliRunner().invoke(command, ["serve", "--ledger", settings.ledger])
    assert done.exit_code == 8
    assert secret not in done.output


def test_the_command_refuses_a_token_without_a_ledger_and_a_ledger_that_is_not_there(tmp_path):
    done = CliRunner().invoke(command, ["serve", "--token"])
    assert (done.exit_code, "--ledger" in done.stderr) == (2, True)
    done = CliRunner().invoke(command, ["serve", "--ledger", str(tmp_path / "none.db")])
    assert (done.exit_code, "there is no ledger" in done.stderr) == (2, True)


def test_a_charge_whose_worker_is_ended_is_said_to_be_unknown(page, post, monkeypatch):
    async def ended(*_):
        raise workers.OutOfTime("the process ended.")

    monkeypatch.setattr(workers.Workers, "ask_ledger", ended)
    done = post(key="july")
    assert done.status_code == 503
    assert "Perhaps charged" in done.text
    assert "<code>july</code>" in done.text


def test_fields_are_bounded_and_taken_once():
    with pytest.raises(InvalidInput, match="twice"):
        Charging.split([("team", "a"), ("team", "b")])
    charging, rest = Charging.split([("team", " a "), ("noise", "2")])
    assert (charging.team, rest) == ("a", [("noise", "2")])
    assert Charging.from_dict(charging.to_dict()) == charging
