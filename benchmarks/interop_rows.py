"""What docs/coming-from.md compares: their code, our code, and why the numbers differ. `make interop` runs every line.

The value of a snippet's last line is its answer: a number, both ends of one, or several by name. Ours runs after theirs, in
the same namespace.
"""

from __future__ import annotations

from dataclasses import dataclass

DP_ACCOUNTING, OPACUS, TF_PRIVACY = "dp-accounting", "opacus", "tensorflow-privacy"
PRV, AUTODP, ZCDP = "prv-accountant", "autodp", "zCDP"
"""Distributions of the peers, and the formula of zCDP budgets, which needs none."""


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison of the page."""

    library: str
    title: str
    theirs: str
    ours: str
    why: str
    fault: bool = False
    """Whether their number is a fault that was met, and not merely a looser bound."""


ROWS = (
    Row(
        DP_ACCOUNTING,
        "A DP-SGD run, by privacy loss distributions",
        """
from dp_accounting import dp_event as dp
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

run = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(256 / 60_000, dp.GaussianDpEvent(1.1)), 14_063)
PLDAccountant().compose(run).get_epsilon(1e-5)
""",
        """
import renyi
from renyi.interop import from_dp_event

renyi.guarantee(from_dp_event(run), delta=1e-5).epsilon
""",
        "The same law. Theirs lies on a grid of step 1e-4, which is rounded up; ours is an integral, with its error "
        "inside.",
    ),
    Row(
        DP_ACCOUNTING,
        "The same run, by Renyi DP",
        """
from dp_accounting import dp_event as dp
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

run = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(256 / 60_000, dp.GaussianDpEvent(1.1)), 14_063)
RdpAccountant().compose(run).get_epsilon(1e-5)
""",
        """
import renyi
from renyi.interop import from_dp_event

renyi.guarantee(from_dp_event(run), delta=1e-5).epsilon
""",
        "A Renyi curve does not determine epsilon: the conversion from it loses 9 % here, whoever does it. "
        "`accountant=renyi.Rdp()` gives our number of that kind.",
    ),
    Row(
        DP_ACCOUNTING,
        "The best of about ten runs",
        """
from dp_accounting import dp_event as dp
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

run = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1_000)
search = dp.RepeatAndSelectDpEvent(run, mean=10, shape=1)
RdpAccountant().compose(search).get_epsilon(1e-5)
""",
        """
import renyi
from renyi.interop import from_dp_event

renyi.guarantee(from_dp_event(search), delta=1e-5).epsilon
""",
        "`RepeatAndSelectDpEvent` is our `Tuned`. Theirs applies the theorem for Renyi curves; ours has a dominating pair "
        "for the best run, and no lower end yet.",
    ),
    Row(
        DP_ACCOUNTING,
        "An event of ours in their accountant",
        """
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

import renyi
from renyi.interop import to_dp_event

releases = renyi.Gaussian(2.0) * 10 + renyi.Laplace(5.0)
RdpAccountant().compose(to_dp_event(releases)).get_epsilon(1e-5)
""",
        """
renyi.guarantee(releases, delta=1e-5).epsilon
""",
        "A Renyi bound again. `to_dp_event` refuses what dp-accounting has no event for, by name.",
    ),
    Row(
        OPACUS,
        "What a run really cost",
        """
from opacus.accountants import PRVAccountant, RDPAccountant

run = PRVAccountant()  # the accountant of a PrivacyEngine, after 14,063 steps
run.history = [(1.1, 256 / 60_000, 14_063)]
other = RDPAccountant()
other.history = run.history
{"PRV": run.get_epsilon(1e-5), "RDP": other.get_epsilon(1e-5)}
""",
        """
import renyi
from renyi.interop import from_opacus

cost = renyi.guarantee(from_opacus(run), delta=1e-5).epsilon
{"PRV": cost, "RDP": cost}
""",
        "PRV is asked for an error of 0.01 in epsilon (its default) and adds it; RDP is the conversion from a Renyi "
        "curve.",
    ),
    Row(
        OPACUS,
        "A run with poisson_sampling=False",
        """
from opacus.accountants import PRVAccountant

run = PRVAccountant()  # ten epochs of 100 shuffled batches
run.history = [(1.0, 1 / 100, 1_000)]
run.get_epsilon(1e-5)
""",
        """
import renyi
from renyi.interop import from_opacus

shuffled = from_opacus(run, poisson_sampling=False)
renyi.guarantee(shuffled, delta=1e-5, adjacency=renyi.Adjacency.ZERO_OUT).epsilon
""",
        "Opacus prints the number of Poisson samples, which were not drawn. What shuffled batches cost lies between our "
        "two ends: the lower one is that of an attack, the upper one needs no help from shuffling.",
    ),
    Row(
        OPACUS,
        "Training with our accountant",
        """
import warnings

import torch
from opacus import PrivacyEngine
from opacus.accountants import create_accountant
from torch.utils.data import DataLoader, TensorDataset

from renyi.interop import opacus_accountant

warnings.simplefilter("ignore")  # of Opacus' noise, which is not secure by default


def train(engine):
    data = TensorDataset(torch.randn(400, 3), torch.randn(400, 1))
    model = torch.nn.Linear(3, 1)
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=DataLoader(data, batch_size=8),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    for inputs, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    return engine.get_epsilon(delta=1e-5)


train(PrivacyEngine(accountant="prv"))
""",
        """
train(PrivacyEngine(accountant=opacus_accountant()))
""",
        "The same 50 steps. `engine.accountant.guarantee(delta=...)` gives the sentence, and both ends.",
    ),
    Row(
        OPACUS,
        "The noise for a target",
        """
from opacus.accountants.utils import get_noise_multiplier

noise = get_noise_multiplier(target_epsilon=2.0, target_delta=1e-5, sample_rate=0.01, steps=1_000, accountant="prv")
{"noise multiplier": noise}
""",
        """
import renyi

noise = renyi.noise_multiplier(epsilon=2.0, delta=1e-5, rate=0.01, steps=1_000)
{"noise multiplier": noise}
""",
        "Theirs may stop up to 0.01 below the target epsilon, and its accountant adds 0.01.",
    ),
    Row(
        TF_PRIVACY,
        "The statement",
        """
from tensorflow_privacy.privacy.analysis.compute_dp_sgd_privacy_lib import compute_dp_sgd_privacy_statement

text = compute_dp_sgd_privacy_statement(60_000, 256, 60, 1.1, 1e-5, used_microbatching=False)
once, poisson = [float(line.split(":")[1]) for line in text.splitlines() if line.startswith("    Epsilon")]
{"each example once per epoch": once, "Poisson samples": poisson}
""",
        """
from renyi.interop import from_tf_privacy

found = from_tf_privacy(60_000, 256, 60, 1.1, 1e-5, used_microbatching=False)
{"each example once per epoch": found.shuffled.epsilon, "Poisson samples": found.poisson.epsilon}
""",
        "Theirs converts Renyi curves. Its first number is for batches that are known; ours for shuffled ones: no theorem "
        "makes the upper end smaller, but the lower end shows that the Poisson number is not theirs.",
    ),
    Row(
        TF_PRIVACY,
        "Users with two examples each",
        """
from tensorflow_privacy.privacy.analysis.compute_dp_sgd_privacy_lib import compute_dp_sgd_privacy_statement

text = compute_dp_sgd_privacy_statement(60_000, 256, 60, 4.0, 1e-5, used_microbatching=False, max_examples_per_user=2)
numbers = [float(line.split(":")[1]) for line in text.splitlines() if line.startswith("    Epsilon")]
{"each example once per epoch": numbers[2], "Poisson samples": numbers[3]}
""",
        """
from renyi.interop import from_tf_privacy

found = from_tf_privacy(60_000, 256, 60, 4.0, 1e-5, used_microbatching=False, max_examples_per_user=2)
{"each example once per epoch": found.shuffled.epsilon, "Poisson samples": found.poisson.epsilon}
""",
        "Theirs enlarges (epsilon, delta) for a group; ours uses the law of a user's examples in one batch.",
    ),
    Row(
        PRV,
        "A DP-SGD run",
        """
from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

step = PoissonSubsampledGaussianMechanism(sampling_probability=256 / 60_000, noise_multiplier=1.1)
accountant = PRVAccountant(prvs=step, max_self_compositions=14_063, eps_error=0.1, delta_error=1e-8)
lower, estimate, upper = accountant.compute_epsilon(delta=1e-5, num_self_compositions=14_063)
{"lower end": lower, "estimate": estimate, "upper end": upper}
""",
        """
import renyi
from renyi import Gaussian, Poisson

run = Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063
cost = renyi.guarantee(run, delta=1e-5).epsilon
{"lower end": cost.lower, "upper end": cost.upper}
""",
        "Both give two ends. Theirs are as far apart as eps_error and delta_error say, and leave out rounding; there is "
        "nothing to set in ours.",
    ),
    Row(
        AUTODP,
        "A DP-SGD run",
        """
from autodp.mechanism_zoo import GaussianMechanism
from autodp.transformer_zoo import AmplificationBySampling, Composition

step = AmplificationBySampling(PoissonSampling=True)(GaussianMechanism(1.1), 256 / 60_000, improved_bound_flag=True)
Composition()([step], [14_063]).get_approxDP(1e-5)
""",
        """
import renyi
from renyi import Gaussian, Poisson

run = Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063
renyi.guarantee(run, delta=1e-5).epsilon
""",
        "Theirs converts a Renyi curve, known at integer orders and interpolated between them.",
    ),
    Row(
        AUTODP,
        "Forty unlike queries",
        """
from autodp.mechanism_zoo import LaplaceMechanism, PureDP_Mechanism
from autodp.transformer_zoo import Composition

Composition()([LaplaceMechanism(b=20.0), PureDP_Mechanism(eps=0.1)], [30, 10]).get_approxDP(1e-6)
""",
        """
import renyi
from renyi import Laplace, PureDP

renyi.guarantee(Laplace(20.0) * 30 + PureDP(0.1) * 10, delta=1e-6).epsilon
""",
        "The conversion from a Renyi curve again.",
    ),
    Row(
        ZCDP,
        "A budget of rho = 0.1",
        """
import math

rho, delta = 0.1, 1e-10
rho + 2 * math.sqrt(rho * math.log(1 / delta))
""",
        """
import renyi
from renyi.interop import from_zcdp

renyi.guarantee(from_zcdp(0.1), delta=1e-10).epsilon
""",
        "The formula that budgets are printed with (Bun & Steinke 2016, Proposition 1.3) is one way of converting rho; a "
        "closer one gives less for the same rho. Rho alone has no lower end.",
    ),
    Row(
        ZCDP,
        "The same rho, spent on Gaussian noise",
        """
import math

rho, delta = 0.1, 1e-10
rho + 2 * math.sqrt(rho * math.log(1 / delta))
""",
        """
import renyi
from renyi.interop import to_zcdp

queries = renyi.Gaussian(10.0) * 20
assert to_zcdp(queries).rho <= 0.1 * (1 + 1e-14)
renyi.guarantee(queries, delta=1e-10).epsilon
""",
        "Rho forgets what was run. Keep the events: they have an exact epsilon, and `to_zcdp` still says what they take "
        "from a budget.",
    ),
    Row(
        DP_ACCOUNTING,
        "The count of repeated randomized response is dropped",
        """
from dp_accounting import NeighboringRelation
from dp_accounting import dp_event as dp
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

ten = dp.SelfComposedDpEvent(dp.RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=4), 10)
PLDAccountant(NeighboringRelation.REPLACE_ONE).compose(ten).get_epsilon(1e-5)
""",
        """
import renyi
from renyi.interop import from_dp_event

renyi.guarantee(from_dp_event(ten), delta=1e-5, adjacency=renyi.Adjacency.REPLACE_ONE).epsilon
""",
        "`PLDAccountant` composes such an event once, whatever the count. Composing it ten times in a loop gives 16.09, "
        "as does `RdpAccountant`.",
        fault=True,
    ),
    Row(
        DP_ACCOUNTING,
        "Replace-one at half the distance",
        """
from dp_accounting import NeighboringRelation
from dp_accounting import dp_event as dp
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

release = dp.GaussianDpEvent(noise_multiplier=1.0)
RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE).compose(release).get_epsilon(1e-5)
""",
        """
import renyi
from renyi.interop import from_dp_event

renyi.guarantee(from_dp_event(release), delta=1e-5, adjacency=renyi.Adjacency.REPLACE_ONE).epsilon
""",
        "Replacing a record of norm C moves a sum by up to 2C. `RdpAccountant` takes C for every relation; "
        "`PLDAccountant` takes 2C for replace-one, and agrees with us. Laplace noise and fixed-size samples of Gaussian "
        "noise are treated alike.",
        fault=True,
    ),
    Row(
        DP_ACCOUNTING,
        "An integer epsilon changes a profile",
        """
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, MixtureGaussianPrivacyLoss

mixture = MixtureGaussianPrivacyLoss(0.3, [0.0, 1.0], [0.9, 0.1], adjacency_type=AdjacencyType.REMOVE)
{
    "delta at epsilon 2": mixture.get_delta_for_epsilon([2])[0],
    "delta at epsilon 2.0": mixture.get_delta_for_epsilon([2.0])[0],
}
""",
        """
import renyi

found = renyi.guarantee(renyi.GaussianMixture(0.3, (0.0, 1.0), (0.9, 0.1)), epsilon=2)
{"delta at epsilon 2": found.answer, "delta at epsilon 2.0": found.answer}
""",
        "Where the loss is inverted, the output takes the type of what was asked: for a list of integers it is cut to an "
        "integer, with no more than a warning of NumPy. Write `2.0`.",
        fault=True,
    ),
    Row(
        DP_ACCOUNTING,
        "Fractional Renyi orders are 3 % loose",
        """
from dp_accounting import dp_event as dp
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

run = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.3, dp.GaussianDpEvent(2.0)), 300)
RdpAccountant().compose(run).get_epsilon(1e-5)
""",
        """
import renyi
from renyi.interop import from_dp_event

renyi.epsilon(from_dp_event(run), delta=1e-5, accountant=renyi.Rdp())
""",
        "At fractional orders the terms of an alternating series are added by their absolute values, which is safe and "
        "too much; where that does not converge (here at 7 of the 90 fractional orders) the order is left out, with a "
        "line in the log. Not wrong, but more than the same Renyi curve says.",
        fault=True,
    ),
)
