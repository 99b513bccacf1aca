"""The direction of imports, the weight of `import renyi`, and the public names."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.house import House

import renyi
from renyi import authoring

SOURCE = Path(renyi.__file__).parent
HOUSE = House.of(SOURCE)


def test_imports_point_one_way():
    assert list(HOUSE.violations()) == []


def test_no_module_imports_itself_through_others():
    assert HOUSE.cycles() == []


def test_an_arrow_to_the_right_and_a_cycle_are_seen(tmp_path):
    for name, text in {
        "__init__": "",
        "laws/__init__": "",
        "laws/a": "from renyi.laws import b",
        "laws/b": "def f():\n    import renyi.laws.a",
        "numerics/__init__": "from renyi.laws.a import x",
        "cellar": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    house = House.of(tmp_path)
    assert list(house.violations()) == [
        "renyi.cellar has no place in the house",
        "numerics must not know laws: renyi.numerics imports renyi.laws",
        "numerics must not know laws: renyi.numerics imports renyi.laws.a",
    ]
    assert house.cycles() == [["renyi.laws.a", "renyi.laws.b"]]


def test_folders_hold_about_a_dozen():
    """Mechanisms may be many; the package itself holds the rooms."""
    crowded = {name: count for name, (count, _) in HOUSE.folders().items() if count > MOST_SIBLINGS.get(name, 15)}
    assert crowded == {}


MOST_SIBLINGS = {"renyi": 23, "renyi/mechanisms": 40}


@pytest.mark.parametrize("path", ["finite_pair", "relation"])
def test_paths_that_contributing_named_still_work_and_warn(path):
    code = f"import warnings; warnings.simplefilter('error'); import renyi.privacy.{path}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "DeprecationWarning" in done.stderr
    assert "renyi.authoring" in done.stderr
    with pytest.warns(DeprecationWarning, match=r"renyi\.authoring"):
        module = importlib.reload(importlib.import_module(f"renyi.privacy.{path}"))
    for name in module.__all__:
        assert getattr(module, name) is getattr(authoring, name)


def test_numerics_has_no_privacy_words():
    words = ("epsilon", "delta", "privacy", "mechanism", "dataset")
    for path in (SOURCE / "numerics").rglob("*.py"):
        text = path.read_text(encoding="utf-8").lower()
        assert not [word for word in words if word in text], path.name


def test_importing_the_package_is_light():
    heavy = [
        "scipy.stats",
        "torch",
        "sklearn",
        "renyi.training",
        "renyi.ledger",
        "matplotlib",
        "typer",
        "rich",
        "sqlalchemy",
        "sqlite3",
        "psycopg",
        "flint",
        "renyi.certificates",
        "starlette",
        "scipy.optimize",
        "scipy.special",
        "renyi.mechanisms.gaussian",
        "renyi.sampling.poisson",
        "renyi.accountants",
    ]
    assert python(f"import sys, renyi; print([m for m in {heavy!r} if m in sys.modules])") == "[]"


def test_a_plain_question_to_the_command_is_light():
    heavy = ["scipy.fft", "renyi.ledger", "renyi.plots", "renyi.papers", "renyi.sampling.random_allocation", "rich"]
    arguments = ["renyi", "epsilon", "--noise-multiplier", "1", "--delta", "1e-5"]
    asked = f"import sys; sys.argv = {arguments!r}; from renyi.cli.main import app; app(standalone_mode=False)"
    assert python(f"{asked}; print([m for m in {heavy!r} if m in sys.modules])").splitlines()[-1] == "[]"


def test_what_is_loaded_late_is_found_by_name():
    event = "Laplace(2.0).on(WithoutReplacement(3, 10))"
    text = python(f"from renyi import Laplace, WithoutReplacement; print({event}.to_json())")
    assert (
        python(f"import renyi; print(renyi.from_json({text!r}) == renyi.{event.replace('(W', '(renyi.W')})") == "True"
    )
    listed = "renyi.events.mechanism.MECHANISMS.names(), renyi.events.sampling.SAMPLINGS.names()"
    first, second = ast.literal_eval(python(f"import renyi; print(({listed}))"))
    assert {"discrete_gaussian", "gaussian", "zcdp"} < set(first)
    assert {"poisson", "random_picks", "truncated_poisson"} < set(second)
    assert "Did you mean 'laplace'?" in python(
        "import renyi\ntry:\n    renyi.events.mechanism.MECHANISMS.get('laplac')\nexcept renyi.PrivacyError as e:\n    print(e)"
    )


@pytest.mark.parametrize(
    "name",
    [
        "interop.from_dp_event",
        "interop.from_opacus",
        "report.schema",
        "ledger.Exhausted",
        "certificates.Certificate",
        "training.Run",
        "plots.trade_off",
        "authoring.Mechanism",
        "calibration.calibrate",
        "accountants.Rdp",
    ],
)
def test_a_room_is_there_when_it_is_asked_for(name):
    assert python(f"import renyi; print(callable(renyi.{name}))") == "True"
    assert name.partition(".")[0] in dir(renyi)


def test_a_name_of_ours_is_taken_before_its_class_is_loaded():
    code = (
        "import renyi\ntry:\n    type('Laplace', (renyi.Mechanism,), {})\nexcept renyi.InvalidInput as e:\n    print(e)"
    )
    assert "'laplace' is taken by renyi.mechanisms.laplace.Laplace" in python(code)


def python(code: str) -> str:
    """What a fresh process prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_public_names_are_pinned():
    assert sorted(renyi.__all__) == [
        "Adjacency",
        "ApproximateDP",
        "Builder",
        "CalibrationError",
        "Classical",
        "Composed",
        "ConvergenceError",
        "DiscreteGaussian",
        "DiscreteLaplace",
        "Event",
        "Exact",
        "ExponentialMechanism",
        "Filter",
        "FinitePair",
        "FromDensities",
        "FromRenyi",
        "Gaussian",
        "GaussianDP",
        "GaussianMixture",
        "Gdp",
        "Grouped",
        "Guarantee",
        "Interval",
        "InvalidInput",
        "Laplace",
        "Ledger",
        "LossGrid",
        "MalformedEvent",
        "Mechanism",
        "NotSerialisable",
        "Poisson",
        "PrivacyError",
        "PureDP",
        "RandomAllocation",
        "RandomPicks",
        "RandomizedResponse",
        "Rdp",
        "Relation",
        "Repeated",
        "Risk",
        "Sampled",
        "Sampling",
        "Shuffled",
        "Statement",
        "TCDP",
        "Trend",
        "TruncatedPoisson",
        "Tuned",
        "UnsupportedError",
        "WithoutReplacement",
        "ZCDP",
        "calibrate",
        "certify",
        "delta",
        "divergence",
        "epsilon",
        "from_json",
        "gdp",
        "guarantee",
        "noise_multiplier",
        "per_record",
        "rho",
        "risk",
        "statement",
        "trade_off",
    ]
    for name in renyi.__all__:
        assert getattr(renyi, name).__doc__, name


def test_public_names_of_training_and_ledger_are_pinned():
    from renyi import ledger, training

    assert sorted(training.__all__) == [
        "AdaptiveClip",
        "Audit",
        "Best",
        "ClippingError",
        "Inserted",
        "LeakError",
        "LogTo",
        "Method",
        "Moment",
        "Offsets",
        "OneRunAudit",
        "Plan",
        "Private",
        "Progress",
        "Record",
        "Rows",
        "Run",
        "Schedule",
        "Search",
        "Statistics",
        "Stop",
        "StopWithin",
        "Study",
        "TrainingError",
        "audit",
        "audit_run",
        "rebut",
        "replay",
        "seeded",
    ]
    assert sorted(ledger.__all__) == [
        "AlreadySettled",
        "Dataset",
        "Entry",
        "Exhausted",
        "Filter",
        "Journal",
        "JournalError",
        "JournalInUse",
        "KeyReused",
        "Ledger",
        "LedgerError",
        "Line",
        "NotInLedger",
        "Odometer",
        "OtherSchema",
        "Payer",
        "Price",
        "Receipt",
        "Reservation",
        "Status",
        "TamperedJournal",
        "TamperedLedger",
        "Unavailable",
        "WhatIf",
        "read",
    ]
    for package in (ledger, training):
        for name in package.__all__:
            assert getattr(package, name).__doc__, name


def test_public_names_of_plots_are_pinned_and_load_no_matplotlib():
    code = "import sys, renyi.plots as p; print('matplotlib' in sys.modules, sorted(p.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [
        "accountants",
        "budget_over_time",
        "epsilon_by_steps",
        "privacy_profile",
        "renyi_curve",
        "save",
        "trade_off",
    ]
    assert done.stdout.strip() == f"False {names}"


def test_public_names_of_interop_are_pinned_and_load_no_other_library():
    code = (
        "import sys, renyi.interop as i; "
        "print([m for m in ('torch', 'opacus', 'dp_accounting') if m in sys.modules], sorted(i.__all__))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [
        "TfPrivacyStatement",
        "ZcdpBudget",
        "from_dp_event",
        "from_opacus",
        "from_tf_privacy",
        "from_zcdp",
        "opacus_accountant",
        "to_dp_event",
        "to_zcdp",
    ]
    assert done.stdout.strip() == f"[] {names}"


def test_every_error_descends_from_privacy_error():
    from renyi import errors

    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    assert len(kinds) > 5
    assert all(issubclass(kind, errors.PrivacyError) for kind in kinds)
