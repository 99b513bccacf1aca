"""The direction of imports, the weight of `import renyi`, and the public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import renyi

SOURCE = Path(renyi.__file__).parent
ROOMS = [
    {"errors"},
    {"check"},
    {"numerics"},
    {"privacy"},
    {"events"},
    {"mechanisms", "sampling"},
    {"accountants"},
    {"calibration"},
    {"ledger"},
    {"training"},
    {"plots", "report"},
    {"cli", "web"},
    {"__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports_of(path: Path) -> set[str]:
    """Every renyi module that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "renyi" else {node.module}
            found |= names
    return {name for name in found if name == "renyi" or name.startswith("renyi.")}


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert own in LEVEL, f"{own} has no place in the house"
    for module in imports_of(path):
        room = room_of(module)
        if own == "cli" and module == "renyi.__version__":
            continue
        assert room in LEVEL, f"{path.name} imports {module}"
        same_room = room == own
        assert same_room or LEVEL[room] < LEVEL[own], f"{own} must not know {room}: {path.name} imports {module}"


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
        "starlette",
        "scipy.optimize",
    ]
    code = f"import sys, renyi; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
        "FinitePair",
        "FromDensities",
        "FromRenyi",
        "Gaussian",
        "Grouped",
        "Guarantee",
        "Interval",
        "InvalidInput",
        "Laplace",
        "LossGrid",
        "MalformedEvent",
        "Mechanism",
        "NotSerialisable",
        "Poisson",
        "PrivacyError",
        "PureDP",
        "RandomAllocation",
        "RandomizedResponse",
        "Rdp",
        "Relation",
        "Repeated",
        "Risk",
        "Sampled",
        "Sampling",
        "TCDP",
        "Trend",
        "TruncatedPoisson",
        "Tuned",
        "UnsupportedError",
        "WithoutReplacement",
        "ZCDP",
        "calibrate",
        "delta",
        "divergence",
        "epsilon",
        "from_json",
        "guarantee",
        "noise_multiplier",
        "per_record",
        "risk",
        "trade_off",
    ]
    for name in renyi.__all__:
        assert getattr(renyi, name).__doc__, name


def test_public_names_of_training_and_ledger_are_pinned():
    from renyi import ledger, training

    assert sorted(training.__all__) == [
        "AdaptiveClip",
        "ClippingError",
        "LeakError",
        "Moment",
        "Plan",
        "Private",
        "Progress",
        "Record",
        "Rows",
        "Run",
        "Schedule",
        "Statistics",
        "TrainingError",
        "replay",
        "seeded",
    ]
    assert sorted(ledger.__all__) == ["Entry", "Journal", "JournalError", "JournalInUse", "TamperedJournal", "read"]
    for package in (ledger, training):
        for name in package.__all__:
            assert getattr(package, name).__doc__, name


def test_public_names_of_plots_are_pinned_and_load_no_matplotlib():
    code = "import sys, renyi.plots as p; print('matplotlib' in sys.modules, sorted(p.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ["accountants", "epsilon_by_steps", "privacy_profile", "renyi_curve", "save", "trade_off"]
    assert done.stdout.strip() == f"False {names}"


def test_every_error_descends_from_privacy_error():
    from renyi import errors

    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    assert len(kinds) > 5
    assert all(issubclass(kind, errors.PrivacyError) for kind in kinds)
