"""Wrong command lines: one clear message that shows what came or what is missing, exit code 2, and never a number."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from renyi.cli.main import app

WRONG = {
    "epsilon --sigma 1.1 --delta 1e-5": "--noise-multiplier",
    "epsilon --nosie-multiplier 1.1 --delta 1e-5": "--noise-multiplier",
    "epsilon --noise-multiplier 1.1 --q 0.1 --steps 3 --delta 1e-5": "--rate",
    "epsilon --noise-multiplier 1.1 --sample-rate 0.1 --steps 3 --delta 1e-5": "--rate",
    "epsilon --noise-multiplier 1.1 --rate 0.1 --num-steps 3 --delta 1e-5": "--steps",
    "epsilon --noise-multiplier 1.1 --eps 1": "--eps",
    "delta --noise-multiplier 1.1 --eps 1": "--epsilon",
    "epsilon --noise-multiplier 1.1": "--delta",
    "epsilon --delta 1e-5": "--noise-multiplier 1.1",
    "epsilon --noise-multiplier": "--noise-multiplier",
    "epsilon --noise-multiplier one --delta 1e-5": "'one'",
    "epsilon --noise-multiplier -1 --delta 1e-5": "-1.0",
    "epsilon --noise-multiplier nan --delta 1e-5": "nan",
    "epsilon --noise-multiplier 1e999 --delta 1e-5": "1e999",
    "epsilon --noise-multiplier 1 --delta 2": "2.0",
    "epsilon --noise-multiplier 1 --delta -1e-5": "-1e-05",
    "epsilon --noise-multiplier 1 --delta 1e-5 --steps 1.5": "'1.5'",
    "epsilon --noise-multiplier 1 --delta 1e-5 --steps -3": "-3",
    "epsilon --noise-multiplier 1 --delta 1e-5 --steps many": "'many'",
    "epsilon --noise-multiplier 1 --rate 3 --steps 2 --delta 1e-5": "3.0",
    "epsilon --noise-multiplier 1 --rate 1/0 --steps 2 --delta 1e-5": "'1/0'",
    "epsilon --noise-multiplier 1 --rate 0.1 --delta 1e-5": "how long was the run",
    "epsilon --noise-multiplier 1 --batch-size 10 --delta 1e-5": "--dataset-size",
    "epsilon --noise-multiplier 1 --batch-size 10 --dataset-size 5 --steps 1 --delta 1e-5": "2.0",
    "epsilon --noise-multiplier 1 --batch-size 10 --dataset-size 50 --rate 0.2 --steps 1 --delta 1e-5": "not both",
    "epsilon --noise-multiplier 1 --epochs 3 --delta 1e-5": "--batch-size",
    "epsilon --noise-multiplier 1 --adjacency replace --delta 1e-5": "'replace-one'",
    "epsilon --mechanism laplac:noise_multiplier=1 --delta 1e-5": "'laplace'",
    "epsilon --mechanism laplace:scale=1 --delta 1e-5": "noise_multiplier=1",
    "epsilon --mechanism laplace --delta 1e-5": "noise_multiplier",
    "epsilon --mechanism laplace=2 --delta 1e-5": "write laplace:noise_multiplier=2.",
    "epsilon --noise-multiplier 1 --sampling poisson=0.1 --steps 1 --delta 1e-5": "write poisson:rate=0.1.",
    "epsilon --noise-multiplier 1 --adjacency replace_one --delta 1e-5": ": 'replace_one' is not one of",
    "report --noise-multiplier 1 --delta 1e-5 --form pdf": ": 'pdf' is not one of",
    "epsilon --mechanism laplace:noise_multiplier=x --delta 1e-5": "'x'",
    "epsilon --mechanism randomized_response:probability=3 --delta 1e-5": "3",
    "epsilon --noise-multiplier 1 --sampling poison:rate=0.1 --steps 1 --delta 1e-5": "'poisson'",
    "epsilon --event nowhere.json --delta 1e-5": "nowhere.json",
    "epsilon --noise-multiplier 1 --delta 1e-5 extra": "extra",
    "epsilonn --noise-multiplier 1": "epsilon",
    "noise --epsilon 1": "delta",
    "noise --epsilon 1 --delta 1e-5 --rate 0.1": "how long was the run",
    "noise --tpr 0.5": "fpr",
    "noise --epsilon 1 --delta 1e-5 --mechanism laplace:noise_multiplier=2": "question mark",
    "steps --epsilon 1 --delta 1e-5": "--noise-multiplier",
    "curve --noise-multiplier 1 --orders 0.5": "0.5",
    "curve --noise-multiplier 1 --orders two": "two",
    "risk --noise-multiplier 1 --fpr 2": "2.0",
    "plot curve --noise-multiplier 1 --delta 1e-5 --out plot.bmp": "plot.bmp",
    "plot curv --noise-multiplier 1 --delta 1e-5 --out plot.png": "'curve'",
    "plot curve --noise-multiplier 1 --delta 1e-5 --out plot.png --size 4": "'4'",
    "plot curve --noise-multiplier 1 --delta 1e-5 --out plot.png --size 400x400": "400x400",
    "plot curve --noise-multiplier 1 --delta 1e-5 --out plot.png --beside other.json": "other.json",
    "gdp --noise-multiplier 1 --delta 1.5": "1.5",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_gets_one_clear_message_and_no_number(line):
    result = CliRunner().invoke(app, line.split(), env={"COLUMNS": "400", "TERM": "dumb"})
    assert result.exit_code == 2
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    assert WRONG[line] in result.stderr
    assert "Traceback" not in result.stderr
