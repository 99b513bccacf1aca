"""Every numbered result of the four documents: what it says, the function that is it, a number that holds it, its tests.

The documents, by the letters that stand for them:

- ZW: Zhu & Wang (2019), "Poisson Subsampled Renyi Differential Privacy", PMLR 97; ZWs: its supplement;
- MTZ: Mironov, Talwar & Zhang (2019), "Renyi Differential Privacy of the Sampled Gaussian Mechanism", arXiv:1908.10530v1;
- RN: "Great but Manageable Expectations", notes on Renyi differential privacy, part 2, with what it uses of part 1.

``RESULTS`` lists the numbers; ``ENTRIES`` must hold each of them once. An entry of kind FUNCTION calls the function it names,
on arguments for which the value is known otherwise: to 30 digits (tests/golden), as a fraction, or by a closed form. The
same entries make docs/theorems.md (page.py).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from renyi import Gaussian, Laplace, Poisson, RandomizedResponse, Relation
from tests.golden import Case, _all
from tests.papers.test_pearson_vajda import pair_of

RESULTS = {
    "ZW": """
        Definition 1; Definition 2; Definition 3; (2); (3); Lemma 4; Theorem 5; Theorem 6; Remark 7; (4); Theorem 8; Lemma 9;
        Proposition 10; Theorem 11; Remark 12; RDP of Gaussian; RDP of Laplace; RDP of randomized response; Figure 1; Figure 2;
        Figure 3; Figure 4; Figure 5
    """,
    "ZWs": """
        (5); (5) for pure DP; (6); (7); Lemma 13; Lemma 14; Lemma 15; Lemma 16; Theorem 17; Theorem 18; Remark 19; Theorem 11;
        Theorem 20; Appendix D
    """,
    "MTZ": """
        Definition 1; Definition 2; Definition 3; Theorem 4; Theorem 5; Lemma 6; Corollary 7; Lemma 8; (3); Lemma 9; (4), (5);
        Lemma 10; Theorem 11; 3.3 case I; 3.3 case II; (13); (14); Definition 12: CDP; Definition 12: zCDP; Definition 12: tCDP;
        Definition 12: RDP; Table 1: Abadi et al.; Table 1: Bun et al.; Figure 1
    """,
    "RN": """
        Claim 8; (6.8); Claim 9; (6.81); (6.99); a; Claim 18; Claim 19; Definition; Example 1; (7.7); Claim 20; Claim 21.1;
        Claim 21.2; Claim 21.3; Example 2; Claim 22; Claim 23; Example 3; Claim 24; Claim 25; Example 4; Claim 26; Conjecture 1;
        Claim 27; (9.5); Claim 28; delta_1; delta_2; delta_3
    """,
}


def results(document: str) -> list[str]:
    """The numbers of a document, in its order."""
    return [" ".join(number.split()) for number in RESULTS[document].split(";")]


class Kind(Enum):
    FUNCTION = "function"
    SIGN = "sign"
    DEFINITION = "definition"
    REMARK = "remark"
    FIGURE = "figure"


@dataclass(frozen=True)
class Entry:
    """One numbered result. ``call`` gets the function and returns the number that is compared with ``expected``."""

    document: str
    number: str
    says: str
    kind: Kind
    function: str
    tests: tuple[str, ...]
    call: Callable[[Callable[..., Any]], float] | None = None
    expected: Fraction | None = None
    source: str = ""
    tolerance: float = 1e-11

    @property
    def name(self) -> str:
        return f"{self.document} {self.number}"

    def resolved(self) -> Any:
        """What the dotted path names."""
        parts = self.function.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found: Any = importlib.import_module(".".join(parts[:cut]))
            except ModuleNotFoundError:
                continue
            for part in parts[cut:]:
                found = getattr(found, part)
            return found
        raise LookupError(self.function)

    def value(self) -> float:
        assert self.call is not None
        return float(self.call(self.resolved()))

    def agrees(self, value: float) -> bool:
        assert self.expected is not None
        return abs(Fraction(value) / self.expected - 1) <= Fraction(self.tolerance)


def case(formula: str, place: int = 0) -> Case:
    """One golden case of a formula."""
    return [one for one in _all() if one.formula == formula][place]


def from_golden(
    document: str,
    number: str,
    says: str,
    function: str,
    tests: tuple[str, ...],
    formula: str,
    call: Callable[[Callable[..., Any], dict[str, Any]], float],
    place: int = 0,
) -> Entry:
    """A function whose value is known to 30 digits."""
    one = case(formula, place)
    return Entry(
        document,
        number,
        says,
        Kind.FUNCTION,
        function,
        tests,
        lambda f: call(f, one.params),
        one.value,
        f"30 digits, {one.id}",
        max(one.tolerance, 1e-11),
    )


def exact(
    document: str,
    number: str,
    says: str,
    function: str,
    tests: tuple[str, ...],
    call: Callable[[Callable[..., Any]], float],
    expected: str,
    source: str,
    tolerance: float = 1e-11,
) -> Entry:
    """A function whose value is known as a fraction or by a closed form."""
    return Entry(document, number, says, Kind.FUNCTION, function, tests, call, Fraction(expected), source, tolerance)


def other(document: str, number: str, says: str, kind: Kind, function: str, *tests: str) -> Entry:
    """A definition, a sign, a remark or a figure: what stands for it in the library, and what tests hold it."""
    return Entry(document, number, says, kind, function, tests)


def curve_of(params: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    """The Renyi curve of a golden case's mechanism."""
    kind, value = params["mechanism"], params["param"]
    mechanism = {"gaussian": Gaussian, "laplace": Laplace, "rr": RandomizedResponse}[kind](value)
    return (
        mechanism.pair(Relation.REMOVE).ratio_law(1000.0).divergence
        if kind == "rr"
        else mechanism.renyi(Relation.REMOVE)
    )


def bound_at(f: Callable[..., Any], params: dict[str, Any]) -> float:
    """A bound on the sampled divergence from a curve, with tau where there is one."""
    more = {"tau": params["tau"]} if "tau" in params else {}
    return f(params["alpha"], rate=params["q"], curve=curve_of(params), **more)


P, Q = (0.5, 0.5), (0.25, 0.75)
ZHU_WANG = "renyi.papers.zhu_wang.zhu_wang"
PROOFS = "renyi.papers.zhu_wang.proofs"
MTZ_PROOFS = "renyi.papers.sampled_gaussian.proofs"
CONCENTRATED = "renyi.papers.exposition.concentrated"
BY_HAND = "by hand, $p = (1/2, 1/2)$, $q = (1/4, 3/4)$"
TEST_ZW, TEST_PROOFS = "tests/papers/test_zhu_wang.py", "tests/papers/test_proofs.py"
TEST_MTZ, TEST_PUBLISHED = "tests/papers/test_mironov_talwar_zhang.py", "tests/papers/test_published_bounds.py"
TEST_CONVERSION, TEST_VAJDA = "tests/laws/test_conversion.py", "tests/papers/test_pearson_vajda.py"
TEST_CLAIM_26, TEST_ROUTES = "tests/papers/test_claim_26.py", "tests/papers/test_routes.py"
TEST_CHERNOFF, TEST_CONCENTRATED = "tests/papers/test_chernoff.py", "tests/papers/test_concentrated.py"
TEST_COMPOSITION, TEST_FIGURES = "tests/accountants/test_composition_theorems.py", "tests/plots/test_figures.py"
TEST_BASE, TEST_CONTRACTS = "tests/mechanisms/test_golden.py", "tests/contracts/test_contracts.py"

ENTRIES: tuple[Entry, ...] = (
    # Zhu & Wang
    other(
        "ZW",
        "Definition 1",
        "(epsilon, delta)-differential privacy, for neighbours that add or remove a record",
        Kind.DEFINITION,
        "renyi.Guarantee",
        f"{TEST_BASE}::test_gaussian_profile",
    ),
    other(
        "ZW",
        "Definition 2",
        "Renyi differential privacy of an order, and its curve as a function of the order",
        Kind.DEFINITION,
        "renyi.laws.curves.curve.RenyiCurve",
        f"{TEST_CONTRACTS}::test_curve_is_the_quadrature_of_the_pair",
    ),
    other(
        "ZW",
        "Definition 3",
        "Poisson sampling: each record is drawn independently with the same probability",
        Kind.DEFINITION,
        "renyi.Poisson",
        f"{TEST_CONTRACTS}::test_rate_one_is_no_sampling_and_rate_zero_is_free",
    ),
    from_golden(
        "ZW",
        "(2)",
        r"epsilon from delta at one order: $D + \log(1/\delta)/(\alpha-1)$, with $D$ of the same order (printed: of "
        r"$\alpha-1$)",
        "renyi.laws.conversion.classic_epsilon",
        (f"{TEST_CONVERSION}::test_epsilon_at_one_order",),
        "conv_classic_eps",
        lambda f, p: f(p["alpha"], p["rdp"], math.log(p["delta"])),
    ),
    from_golden(
        "ZW",
        "(3)",
        r"delta from epsilon at one order: $\exp((\alpha-1)(D - \varepsilon))$, corrected alike",
        "renyi.laws.conversion.classic_log_delta",
        (f"{TEST_CONVERSION}::test_delta_at_one_order",),
        "conv_classic_delta",
        lambda f, p: math.exp(f(p["alpha"], p["rdp"], p["eps"])),
    ),
    from_golden(
        "ZW",
        "Lemma 4",
        r"$(\varepsilon, \delta)$ on a Poisson sample is $(\log(1 + \gamma\,(e^\varepsilon - 1)),\; \gamma\delta)$",
        "renyi.sampling.poisson.amplified.lemma_4",
        (f"{TEST_ZW}::test_lemma_4", f"{TEST_ZW}::test_lemma_4_without_overflow"),
        "amplified_eps",
        lambda f, p: f(epsilon=p["eps"], delta=0.0, rate=p["gamma"]).epsilon,
    ),
    from_golden(
        "ZW",
        "Theorem 5",
        "a bound for every mechanism from its Renyi curve, with a factor 3 from the third term on",
        f"{ZHU_WANG}.theorem_5",
        (
            f"{TEST_ZW}::test_theorem_5",
            "tests/sampling/test_general_bound.py::test_no_finite_pair_violates_it_in_either_direction",
        ),
        "poisson_general_factor3",
        bound_at,
        place=3,
    ),
    from_golden(
        "ZW",
        "Theorem 6",
        "the same without the factor: attained by Gaussian, Laplace, randomized response; an upper bound for all",
        f"{ZHU_WANG}.theorem_6",
        (
            f"{TEST_ZW}::test_theorems_6_and_8",
            "tests/sampling/test_general_bound.py::test_the_convex_function_of_the_proof_is_nonnegative",
        ),
        "poisson_tight",
        bound_at,
        place=3,
    ),
    other(
        "ZW",
        "Remark 7",
        r"the factor 3 costs at most $\log(3)/(\alpha-1)$, a factor 3 in delta",
        Kind.REMARK,
        f"{ZHU_WANG}.theorem_5",
        f"{TEST_ZW}::test_each_simplification_costs_something",
        f"{TEST_FIGURES}::test_the_tight_bound_closes_the_constant_gap",
    ),
    other(
        "ZW",
        "(4)",
        "the condition of Theorem 8: Pearson-Vajda moments of odd order are not negative",
        Kind.SIGN,
        "renyi.papers.zhu_wang.pearson_vajda.pearson_vajda_condition",
        f"{TEST_VAJDA}::test_two_poissons_are_the_counterexample",
        f"{TEST_ZW}::test_the_condition_of_theorem_8_can_fail",
    ),
    from_golden(
        "ZW",
        "Theorem 8",
        "Theorem 6's value as an upper bound under condition (4), which is not needed",
        f"{ZHU_WANG}.theorem_8",
        (f"{TEST_ZW}::test_theorems_6_and_8", f"{TEST_ZW}::test_theorem_8_asks_for_its_condition"),
        "poisson_tight",
        lambda f, p: f(p["alpha"], rate=p["q"], curve=curve_of(p), condition_holds=True),
        place=19,
    ),
    exact(
        "ZW",
        "Lemma 9",
        r"moments of $\pi/\mu - 1$ of order $n$ from those of order $n-1$ under $\pi$ and under $\mu$",
        f"{ZHU_WANG}.lemma_9",
        (f"{TEST_ZW}::test_the_identities", f"{TEST_ZW}::test_the_lemmas_by_hand"),
        lambda f: f(3, p=P, q=Q).left,
        "2/9",
        BY_HAND,
    ),
    other(
        "ZW",
        "Proposition 10",
        "Gaussian and Laplace noise meet condition (4); so does all noise that a mirror exchanges",
        Kind.SIGN,
        "renyi.papers.zhu_wang.pearson_vajda.pearson_vajda_condition",
        f"{TEST_VAJDA}::test_noise_that_a_mirror_exchanges_satisfies_it",
        f"{TEST_VAJDA}::test_and_its_moments_are_indeed_positive",
    ),
    from_golden(
        "ZW",
        "Theorem 11",
        r"Theorem 6 from $2\tau$ values of the curve, for $2 \le \tau \le \alpha/2$",
        f"{ZHU_WANG}.theorem_11",
        (f"{TEST_ZW}::test_theorems_11_and_20", f"{TEST_ZW}::test_tau_is_at_most_half_the_order"),
        "tau_main",
        bound_at,
        place=3,
    ),
    other(
        "ZW",
        "Remark 12",
        "sums with signs are kept by sign and logarithm; here they are rewritten as sums of positive terms",
        Kind.REMARK,
        "renyi.papers.zhu_wang.binomial_block.log_block_excess",
        f"{TEST_ZW}::test_the_positive_form_has_the_value_of_the_printed_one",
    ),
    from_golden(
        "ZW",
        "RDP of Gaussian",
        r"$\alpha/(2\sigma^2)$",
        "renyi.laws.pairs.gaussian.gaussian_divergence",
        (f"{TEST_BASE}::test_gaussian_curve",),
        "rdp_gaussian",
        lambda f, p: f(np.array([float(p["alpha"])]), p["sigma"])[0],
    ),
    from_golden(
        "ZW",
        "RDP of Laplace",
        r"the logarithm of two exponentials, over $\alpha-1$",
        "renyi.mechanisms.laplace.laplace_divergence",
        (f"{TEST_BASE}::test_laplace_curve",),
        "rdp_laplace",
        lambda f, p: f(np.array([float(p["alpha"])]), p["b"])[0],
        place=7,
    ),
    from_golden(
        "ZW",
        "RDP of randomized response",
        r"the logarithm of $p^\alpha (1-p)^{1-\alpha} + (1-p)^\alpha p^{1-\alpha}$, over $\alpha-1$",
        "renyi.divergence",
        (f"{TEST_BASE}::test_randomized_response_curve",),
        "rdp_rr",
        lambda f, p: f(RandomizedResponse(p["p"]), order=p["alpha"]),
        place=7,
    ),
    other(
        "ZW",
        "Figure 1",
        "an illustration of sampling: a mechanism on a random subset",
        Kind.FIGURE,
        "renyi.Poisson",
        f"{TEST_CONTRACTS}::test_monotone_in_the_parameters_that_a_sampling_declares",
    ),
    other(
        "ZW",
        "Figure 2",
        "odd moments of two Poisson laws that are negative",
        Kind.FIGURE,
        "renyi.plots.figures.odd_moments",
        f"{TEST_FIGURES}::test_odd_moments_of_two_poisson_laws_are_negative",
        f"{TEST_VAJDA}::test_moments_match_golden_values_within_their_own_error",
    ),
    other(
        "ZW",
        "Figure 3",
        "the bounds on the divergence as functions of the order",
        Kind.FIGURE,
        "renyi.plots.figures.divergence_bounds",
        f"{TEST_FIGURES}::test_the_phase_transition_lies_near_one_over_gamma",
    ),
    other(
        "ZW",
        "Figure 4",
        "epsilon after many rounds, by moments and by composition of (epsilon, delta)",
        Kind.FIGURE,
        "renyi.plots.figures.rounds",
        f"{TEST_FIGURES}::test_the_moments_accountant_overtakes_naive_composition_after_many_rounds",
    ),
    other(
        "ZW",
        "Figure 5",
        r"how good $\tau$ terms are",
        Kind.FIGURE,
        "renyi.plots.figures.tau_terms",
        f"{TEST_FIGURES}::test_fifty_terms_are_nearly_exact",
    ),
    # The supplement
    exact(
        "ZWs",
        "(5)",
        r"adding a record costs at most $-\log(1 - \gamma)$, whatever the mechanism",
        f"{PROOFS}.equation_5",
        (f"{TEST_PROOFS}::test_equation_5",),
        lambda f: f(rate=0.3),
        "0.356674943938732363052309788025",
        r"$-\log 0.7$",
    ),
    exact(
        "ZWs",
        "(5) for pure DP",
        r"and at most $-\log(1 - \gamma\,(1 - e^{-\varepsilon}))$ if it is $\varepsilon$-DP",
        f"{PROOFS}.equation_5",
        (f"{TEST_PROOFS}::test_equation_5",),
        lambda f: f(rate=0.3, epsilon=1.0),
        "0.210271956422368701051340761255",
        r"$-\log(1 - 0.3\,(1 - 1/e))$",
    ),
    exact(
        "ZWs",
        "(6)",
        "the decomposition of the adding direction by who was drawn, its left side (even orders only)",
        f"{PROOFS}.equation_7",
        (f"{TEST_PROOFS}::test_equation_7_at_even_orders", f"{TEST_PROOFS}::test_equation_7_is_false_at_odd_orders"),
        lambda f: f(2, rate=0.25, p=P, q=Q).left,
        "56/55",
        f"{BY_HAND}, rate 1/4",
    ),
    exact(
        "ZWs",
        "(7)",
        "and its right side",
        f"{PROOFS}.equation_7",
        (f"{TEST_PROOFS}::test_equation_7_at_even_orders", f"{TEST_PROOFS}::test_equation_7_is_false_at_odd_orders"),
        lambda f: f(2, rate=0.25, p=P, q=Q).right,
        "261/256",
        f"{BY_HAND}, rate 1/4",
    ),
    exact(
        "ZWs",
        "Lemma 13",
        "moments of $2 - R$ from those of $R$ and from odd moments of $R - 1$",
        f"{ZHU_WANG}.lemma_13",
        (f"{TEST_ZW}::test_the_identities",),
        lambda f: f(5, p=P, q=Q).right,
        "256/81",
        BY_HAND,
    ),
    exact(
        "ZWs",
        "Lemma 14",
        "moments of $2 - R$ are at most those of the next order",
        f"{ZHU_WANG}.lemma_14",
        (f"{TEST_ZW}::test_the_inequalities", f"{TEST_ZW}::test_lemma_14_needs_both_directions"),
        lambda f: f(4, p=P, q=Q).right,
        "992/81",
        BY_HAND,
    ),
    exact(
        "ZWs",
        "Lemma 15",
        "or 2 or 3 times those of the same order: the factor 3 of Theorem 5",
        f"{ZHU_WANG}.lemma_15",
        (f"{TEST_ZW}::test_the_inequalities",),
        lambda f: f(4, p=P, q=Q).right,
        "112/9",
        BY_HAND,
    ),
    exact(
        "ZWs",
        "Lemma 16",
        "an inequality between odd moments, for Theorem 17",
        f"{ZHU_WANG}.lemma_16",
        (f"{TEST_ZW}::test_the_inequalities",),
        lambda f: f(5, p=P, q=Q).left,
        "80/81",
        BY_HAND,
    ),
    from_golden(
        "ZWs",
        "Theorem 17",
        "odd moments of two Gaussians are not negative",
        "renyi.papers.zhu_wang.pearson_vajda.pearson_vajda_moment",
        (f"{TEST_VAJDA}::test_moments_match_golden_values_within_their_own_error",),
        "pearson_vajda_gaussian",
        lambda f, p: f(pair_of(case("pearson_vajda_gaussian", 3)), p["order"]).value,
        place=3,
    ),
    from_golden(
        "ZWs",
        "Theorem 18",
        "nor are those of two Laplace laws, and they grow with the distance",
        "renyi.papers.zhu_wang.pearson_vajda.pearson_vajda_moment",
        (
            f"{TEST_VAJDA}::test_moments_match_golden_values_within_their_own_error",
            "tests/theorems/test_remarks.py::test_moments_of_two_laplace_laws_grow_with_their_distance",
        ),
        "pearson_vajda_laplace",
        lambda f, p: f(pair_of(case("pearson_vajda_laplace")), p["order"]).value,
    ),
    other(
        "ZWs",
        "Remark 19",
        "Laplace noise in more dimensions: the worst shift lies along one axis, in every moment and at every level",
        Kind.REMARK,
        "renyi.Laplace",
        "tests/theorems/test_remarks.py::test_the_worst_shift_of_laplace_noise_lies_along_one_axis",
        "tests/mechanisms/test_several_dimensions.py::test_a_divided_shift_of_laplace_noise_is_below_the_pair_at_every_level",
    ),
    from_golden(
        "ZWs",
        "Theorem 11",
        r"Theorem 11 as the supplement proves it: every order above $\tau$ is raised to $\alpha$",
        f"{ZHU_WANG}.theorem_11_appendix",
        (f"{TEST_ZW}::test_theorems_11_and_20",),
        "tau_appendix",
        bound_at,
        place=3,
    ),
    from_golden(
        "ZWs",
        "Theorem 20",
        r"Theorem 5 from $\tau$ values of the curve",
        f"{ZHU_WANG}.theorem_20",
        (f"{TEST_ZW}::test_theorems_11_and_20",),
        "tau_general_factor3",
        bound_at,
        place=3,
    ),
    from_golden(
        "ZWs",
        "Appendix D",
        "the two moments of the sampled Gaussian by integration, of which the second is the larger",
        f"{PROOFS}.appendix_d",
        (f"{TEST_PROOFS}::test_appendix_d",),
        "sgm_rdp_remove",
        lambda f, p: f(p["alpha"], rate=p["q"], noise=p["sigma"]).log_e2 / (p["alpha"] - 1),
        place=11,
    ),
    # Mironov, Talwar & Zhang
    other(
        "MTZ",
        "Definition 1",
        "the Renyi divergence, with its limits at orders 1 and infinity",
        Kind.DEFINITION,
        "renyi.divergence",
        f"{TEST_BASE}::test_infinite_order_is_the_largest_loss",
    ),
    other(
        "MTZ",
        "Definition 2",
        "Renyi differential privacy",
        Kind.DEFINITION,
        "renyi.laws.curves.curve.RenyiCurve",
        f"{TEST_CONTRACTS}::test_composed_curve_is_the_sum_of_curves",
    ),
    other(
        "MTZ",
        "Definition 3",
        "the sampled Gaussian mechanism: `Gaussian(noise).on(Poisson(rate))`",
        Kind.DEFINITION,
        "renyi.Gaussian",
        "tests/sampling/test_sampled_gaussian.py::test_against_ball_arithmetic",
    ),
    from_golden(
        "MTZ",
        "Theorem 4",
        r"the sampled Gaussian costs as much as the pair of a mixture and a Gaussian on the line (printed with "
        r"$\le$ for $\ge$)",
        "renyi.divergence",
        ("tests/sampling/test_golden.py::test_published_curve",),
        "sgm_rdp_remove",
        lambda f, p: f(Gaussian(p["sigma"]).on(Poisson(p["q"])), order=p["alpha"]),
        place=19,
    ),
    exact(
        "MTZ",
        "Theorem 5",
        "removing costs at least as much as adding, if a map that keeps the measure exchanges the laws",
        f"{MTZ_PROOFS}.theorem_5",
        (
            f"{TEST_PROOFS}::test_theorem_5_of_mironov_and_others",
            f"{TEST_PROOFS}::test_theorem_5_needs_the_measure_to_be_kept",
        ),
        lambda f: f(3.0, rate=0.25, p=(0.75, 0.25), q=(0.25, 0.75)).left,
        "0.122561229016492499299515118253",
        r"$\log(23/18)/2$, by hand",
    ),
    exact(
        "MTZ",
        "Lemma 6",
        "the inequality between numbers behind Theorem 5",
        f"{MTZ_PROOFS}.lemma_6",
        (f"{TEST_PROOFS}::test_lemma_6",),
        lambda f: f(3.0, rate=0.25, u=2.0, v=1.0).left,
        "843/256",
        "by hand, $q = 1/4$, $u = 2$, $v = 1$",
    ),
    from_golden(
        "MTZ",
        "Corollary 7",
        "for Gaussian noise: adding, which never exceeds removing",
        "renyi.sampling.poisson.gaussian.renyi.sampled_gaussian_add",
        ("tests/sampling/test_sampled_gaussian.py::test_removing_costs_at_least_as_much_as_adding",),
        "sgm_rdp_add",
        lambda f, p: f(np.array([float(p["alpha"])]), rate=p["q"], noise=p["sigma"])[0],
        place=15,
    ),
    exact(
        "MTZ",
        "Lemma 8",
        "a quadratic bound on sampled powers of two numbers that are near each other",
        f"{MTZ_PROOFS}.lemma_8",
        (f"{TEST_PROOFS}::test_lemma_8",),
        lambda f: f(3.0, rate=0.25, x=3.0, y=2.0).right,
        "85/16",
        "by hand, $q = 1/4$, $x = 3$, $y = 2$",
    ),
    exact(
        "MTZ",
        "(3)",
        r"$(1+w)^\alpha \le 1 + \alpha w + \alpha(\alpha-1)\, w^2$ up to $w = 1/(\alpha-1)$",
        f"{MTZ_PROOFS}.equation_3",
        (f"{TEST_PROOFS}::test_equation_3",),
        lambda f: f(3.0, w=0.25).right,
        "17/8",
        "by hand",
    ),
    exact(
        "MTZ",
        "Lemma 9",
        "the part of the moment below $z_0$, without conditions",
        f"{MTZ_PROOFS}.lemma_9",
        (f"{TEST_PROOFS}::test_lemmas_9_and_10_split_the_moment", f"{TEST_PROOFS}::test_lemma_9_needs_no_conditions"),
        lambda f: f(5, rate=0.125, noise=4.0).left,
        "1.01033707192424167071465433702",
        "numerical integration to 30 digits",
    ),
    from_golden(
        "MTZ",
        "(4), (5)",
        "the two conditions of Theorem 11 on the order, and where they end",
        "renyi.papers.sampled_gaussian.mironov_talwar_zhang.largest_order",
        (f"{TEST_MTZ}::test_largest_order", f"{TEST_MTZ}::test_the_conditions_end_at_the_largest_order"),
        "sgm_closed_form_alpha_max",
        lambda f, p: f(rate=p["q"], noise=p["sigma"]),
    ),
    exact(
        "MTZ",
        "Lemma 10",
        "the part above $z_0$, under the conditions",
        f"{MTZ_PROOFS}.lemma_10",
        (f"{TEST_PROOFS}::test_lemmas_9_and_10_split_the_moment",),
        lambda f: f(5, rate=0.125, noise=4.0).left,
        "0.0000102718798845396366655939933878",
        "numerical integration to 30 digits",
    ),
    from_golden(
        "MTZ",
        "Theorem 11",
        r"$2 q^2 \alpha/\sigma^2$ under the conditions",
        "renyi.papers.sampled_gaussian.mironov_talwar_zhang.theorem_11",
        (
            f"{TEST_MTZ}::test_closed_form",
            f"{TEST_MTZ}::test_inside_its_conditions_the_closed_form_is_above_the_divergence",
        ),
        "mtz_closed_form_rdp",
        lambda f, p: f(p["alpha"], rate=p["q"], noise=p["sigma"]),
    ),
    from_golden(
        "MTZ",
        "3.3 case I",
        "the moment at an integer order as a finite sum",
        "renyi.papers.exposition.claim_26.claim_27",
        ("tests/sampling/test_sampled_gaussian.py::test_at_integer_orders_it_is_the_finite_sum",),
        "G_lambda",
        lambda f, p: math.exp(
            f(round(p["c2"] * p["sigma_sq"]), rate=p["c1"] / math.sqrt(p["sigma_sq"]), noise=math.sqrt(p["sigma_sq"]))
        ),
        place=4,
    ),
    from_golden(
        "MTZ",
        "3.3 case II",
        "the moment at a fractional order as two series of complementary error functions",
        "renyi.papers.sampled_gaussian.mironov_talwar_zhang.erfc_series",
        (f"{TEST_MTZ}::test_the_series_against_30_digits",),
        "sgm_rdp_remove",
        lambda f, p: f(p["alpha"], rate=p["q"], noise=p["sigma"]),
        place=44,
    ),
    exact(
        "MTZ",
        "(13)",
        "the privacy loss: the logarithm of the ratio of probabilities",
        f"{CONCENTRATED}.loss_moment",
        (f"{TEST_CONCENTRATED}::test_equation_14_and_its_misprint",),
        lambda f: f(1.0, p=P, q=Q),
        "4/3",
        BY_HAND,
    ),
    exact(
        "MTZ",
        "(14)",
        r"its moments are Renyi divergences: $M_\alpha = \exp(\alpha D_{\alpha+1})$ (printed with the laws exchanged)",
        f"{CONCENTRATED}.loss_moment",
        (f"{TEST_CONCENTRATED}::test_equation_14_and_its_misprint",),
        lambda f: f(2.0, p=(0.75, 0.25), q=(0.25, 0.75)),
        "61/9",
        r"$(3/4)^3/(1/4)^2 + (1/4)^3/(3/4)^2$, by hand",
    ),
    exact(
        "MTZ",
        "Definition 12: CDP",
        "a bounded mean and a subgaussian centred loss, and the epsilon that follows",
        f"{CONCENTRATED}.cdp_to_epsilon",
        (
            f"{TEST_CONCENTRATED}::test_cdp_is_zcdp_with_an_offset",
            f"{TEST_CONCENTRATED}::test_the_centred_loss_is_what_is_subgaussian",
        ),
        lambda f: f(mu=0.5, tau=1.0, delta=1e-5),
        "5.29852591218808119051983064341",
        r"$\mu + \tau \sqrt{2 \log(1/\delta)}$",
    ),
    exact(
        "MTZ",
        "Definition 12: zCDP",
        r"$D_\alpha \le \xi + \rho\alpha$ at every order, and the epsilon that follows",
        f"{CONCENTRATED}.zcdp_to_epsilon",
        (
            f"{TEST_CONCENTRATED}::test_zcdp_read_both_ways_and_above_the_accountant",
            f"{TEST_CONCENTRATED}::test_the_gaussian_passes_through_zcdp",
        ),
        lambda f: f(rho=0.5, delta=1e-5),
        "5.29852591218808119051983064341",
        r"$\rho + 2 \sqrt{\rho \log(1/\delta)}$",
    ),
    exact(
        "MTZ",
        "Definition 12: tCDP",
        r"the same up to the order $\omega$, and the epsilon that follows",
        f"{CONCENTRATED}.tcdp_to_epsilon",
        (f"{TEST_CONCENTRATED}::test_tcdp",),
        lambda f: f(rho=0.01, omega=8.0, delta=1e-5),
        "1.72470363785288976427774930256",
        r"$\rho\omega + \log(1/\delta)/(\omega - 1)$",
    ),
    exact(
        "MTZ",
        "Definition 12: RDP",
        "one order alone; what zCDP says of it",
        f"{CONCENTRATED}.zcdp_to_divergence",
        (f"{TEST_CONCENTRATED}::test_cdp_is_zcdp_with_an_offset",),
        lambda f: f(8.0, rho=0.125, xi=0.25),
        "5/4",
        r"$\xi + \rho\alpha$",
    ),
    from_golden(
        "MTZ",
        "Table 1: Abadi et al.",
        "the first moments bound, with the terms that its statement hides",
        "renyi.papers.zhu_wang.published_bounds.abadi",
        (
            f"{TEST_PUBLISHED}::test_abadi",
            f"{TEST_PUBLISHED}::test_abadi_is_above_the_divergence_inside_its_conditions",
        ),
        "abadi_explicit_rdp",
        lambda f, p: f(p["alpha"], rate=p["q"], noise=p["sigma"]),
        place=7,
    ),
    exact(
        "MTZ",
        "Table 1: Bun et al.",
        r"$6 q^2 \alpha/\sigma^2$ under the conditions of truncated concentrated privacy",
        "renyi.papers.zhu_wang.published_bounds.bun",
        (f"{TEST_PUBLISHED}::test_bun_is_above_the_divergence_inside_its_conditions",),
        lambda f: f(4.0, rate=0.0625, noise=8.0),
        "3/2048",
        "by hand",
    ),
    other(
        "MTZ",
        "Figure 1",
        "the largest order of the closed form, and the closed form beside the divergence",
        Kind.FIGURE,
        "renyi.plots.figures.closed_form",
        f"{TEST_FIGURES}::test_the_largest_order_of_the_closed_form",
        f"{TEST_FIGURES}::test_the_closed_form_is_about_four_times_the_divergence",
    ),
    # The notes
    from_golden(
        "RN",
        "Claim 8",
        "the tail of one Gaussian release, by Chernoff's bound",
        "renyi.papers.exposition.chernoff.gaussian_chernoff_delta",
        (f"{TEST_CHERNOFF}::test_gaussian", f"{TEST_CHERNOFF}::test_a_bound_on_the_exact_delta"),
        "chernoff_gaussian_delta",
        lambda f, p: f(noise=p["sigma"], epsilon=p["eps"]),
        place=1,
    ),
    from_golden(
        "RN",
        "(6.8)",
        r"$\exp\bigl(-(1/(2\sigma) - \varepsilon\sigma)^2/2\bigr)$",
        "renyi.papers.exposition.chernoff.gaussian_chernoff_delta",
        (f"{TEST_CHERNOFF}::test_gaussian",),
        "chernoff_gaussian_delta",
        lambda f, p: f(noise=p["sigma"], epsilon=p["eps"]),
    ),
    exact(
        "RN",
        "Claim 9",
        "how much noise is enough for one Gaussian release",
        "renyi.papers.exposition.chernoff.sufficient_noise",
        (f"{TEST_CHERNOFF}::test_sufficient_noise_suffices",),
        lambda f: f(epsilon=1.0, delta=1e-5),
        "5.50563269337462871492067500552",
        r"$\sqrt{2 \log(1/\delta)}/\varepsilon + 1/\sqrt{2\varepsilon}$",
    ),
    exact(
        "RN",
        "(6.81)",
        "the same formula",
        "renyi.papers.exposition.chernoff.sufficient_noise",
        (f"{TEST_CHERNOFF}::test_sufficient_noise_suffices",),
        lambda f: f(epsilon=1.0, delta=1e-5, count=1),
        "5.50563269337462871492067500552",
        r"$\sqrt{2 \log(1/\delta)}/\varepsilon + 1/\sqrt{2\varepsilon}$",
    ),
    from_golden(
        "RN",
        "(6.99)",
        "the tail of $k$ pure losses by Azuma's inequality",
        "renyi.accountants.classical.composition_theorems.azuma_tail",
        (
            f"{TEST_COMPOSITION}::test_azuma_tail",
            f"{TEST_COMPOSITION}::test_the_three_tails_of_thirty_randomized_responses",
        ),
        "azuma_tail",
        lambda f, p: f(epsilon=p["eps"], step_epsilon=p["eps_step"], count=p["n"]),
    ),
    from_golden(
        "RN",
        "a",
        r"$a(e) = \min(e\,(\exp(e) - 1),\, e)$, a bound on the mean of a pure loss",
        "renyi.accountants.classical.composition_theorems.kl_bound",
        (
            f"{TEST_COMPOSITION}::test_kl_bound",
            f"{TEST_COMPOSITION}::test_the_mean_loss_of_randomized_response_is_the_largest",
        ),
        "a_kl",
        lambda f, p: f(epsilon=p["eps"]),
        place=2,
    ),
    from_golden(
        "RN",
        "Claim 18",
        "advanced composition",
        "renyi.accountants.classical.composition_theorems.advanced_composition",
        (f"{TEST_COMPOSITION}::test_advanced_composition", f"{TEST_COMPOSITION}::test_improved_is_never_above_printed"),
        "advanced_composition_eps",
        lambda f, p: f(step_epsilon=p["eps"], step_delta=0.0, count=p["k"], slack=p["delta_slack"]).epsilon,
    ),
    from_golden(
        "RN",
        "Claim 19",
        "amplification of (epsilon, delta) by sampling, of a fixed size or Poisson",
        "renyi.sampling.poisson.amplified.lemma_4",
        (
            f"{TEST_ZW}::test_lemma_4",
            "tests/accountants/test_classical.py::test_lemma_4_is_the_exact_profile_of_removing",
        ),
        "amplified_eps",
        lambda f, p: f(epsilon=p["eps"], delta=0.0, rate=p["gamma"]).epsilon,
        place=1,
    ),
    other(
        "RN",
        "Definition",
        r"Renyi differential privacy, $G_\lambda$ and the cumulant $\kappa$ of the loss",
        Kind.DEFINITION,
        "renyi.laws.curves.curve.RenyiCurve",
        f"{TEST_CONCENTRATED}::test_equation_14_and_its_misprint",
    ),
    from_golden(
        "RN",
        "Example 1",
        r"the divergence of two Gaussians: $\lambda/(2\sigma^2)$",
        "renyi.laws.pairs.gaussian.gaussian_divergence",
        (f"{TEST_BASE}::test_gaussian_curve",),
        "rdp_gaussian",
        lambda f, p: f(np.array([float(p["alpha"])]), p["sigma"])[0],
        place=4,
    ),
    exact(
        "RN",
        "(7.7)",
        r"Chernoff's bound at one order: $\exp(\kappa(t) - \varepsilon t)$",
        "renyi.laws.conversion.classic_log_delta",
        (f"{TEST_CONVERSION}::test_delta_at_one_order",),
        lambda f: f(3.0, 0.5, 2.0),
        "-3",
        r"$2\,(1/2 - 2)$",
    ),
    from_golden(
        "RN",
        "Claim 20",
        r"two laws are $(\varepsilon, \exp(-\kappa^*(\varepsilon)))$-indistinguishable",
        "renyi.papers.exposition.chernoff.chernoff_delta",
        (f"{TEST_CHERNOFF}::test_the_search_finds_the_closed_form",),
        "chernoff_gaussian_delta",
        lambda f, p: f(Gaussian(p["sigma"]).renyi(Relation.REMOVE), epsilon=p["eps"]),
    ),
    exact(
        "RN",
        "Claim 21.1",
        r"$(\lambda, \rho)$-RDP implies $(\varepsilon, \exp((\lambda-1)(\rho-\varepsilon)))$-DP",
        "renyi.laws.conversion.classic_log_delta",
        (f"{TEST_CONVERSION}::test_delta_at_one_order",),
        lambda f: math.exp(f(3.0, 0.5, 2.0)),
        "0.0497870683678639429793424156501",
        r"$e^{-3}$",
    ),
    from_golden(
        "RN",
        "Claim 21.2",
        r"and $(\varepsilon, \exp(-\kappa^*(\varepsilon)))$-DP over all orders (printed with the sign misplaced)",
        "renyi.papers.exposition.chernoff.chernoff_delta",
        (f"{TEST_CHERNOFF}::test_the_search_finds_the_closed_form", f"{TEST_CHERNOFF}::test_any_curve"),
        "chernoff_gaussian_delta",
        lambda f, p: f(Gaussian(p["sigma"]).renyi(Relation.REMOVE), epsilon=p["eps"]),
        place=4,
    ),
    exact(
        "RN",
        "Claim 21.3",
        r"and $(\rho + \log(1/\delta)/(\lambda-1),\, \delta)$-DP",
        "renyi.laws.conversion.classic_epsilon",
        (f"{TEST_CONVERSION}::test_epsilon_at_one_order",),
        lambda f: f(3.0, 0.5, math.log(1e-5)),
        "6.2564627324851141691434516797",
        r"$1/2 + \log(10^5)/2$",
    ),
    exact(
        "RN",
        "Example 2",
        r"the order at which one Gaussian attains the infimum: $1/2 + \varepsilon\sigma^2$ (misprinted)",
        "renyi.papers.exposition.chernoff.gaussian_chernoff_order",
        (f"{TEST_CHERNOFF}::test_a_bound_on_the_exact_delta", f"{TEST_CHERNOFF}::test_edges_and_conditions"),
        lambda f: f(noise=2.0, epsilon=1.0),
        "9/2",
        "by hand",
    ),
    from_golden(
        "RN",
        "Claim 22",
        "Renyi divergences add under adaptive composition",
        "renyi.divergence",
        (f"{TEST_CONTRACTS}::test_composed_curve_is_the_sum_of_curves",),
        "rdp_gaussian",
        lambda f, p: f(Gaussian(p["sigma"]) * 7, order=p["alpha"]) / 7,
    ),
    from_golden(
        "RN",
        "Claim 23",
        r"$k$ releases: $\exp(-k\,\kappa^*(\varepsilon/k))$",
        "renyi.papers.exposition.chernoff.chernoff_delta",
        (f"{TEST_CHERNOFF}::test_the_search_finds_the_closed_form",),
        "route2_delta",
        lambda f, p: f(Gaussian(p["sigma"]).renyi(Relation.REMOVE), epsilon=p["eps"], count=p["k"]),
        place=2,
    ),
    exact(
        "RN",
        "Example 3",
        "how much noise is enough for $k$ Gaussian releases",
        "renyi.papers.exposition.chernoff.sufficient_noise",
        (f"{TEST_CHERNOFF}::test_sufficient_noise_suffices",),
        lambda f: f(epsilon=1.0, delta=1e-5, count=10),
        "17.4103392713512531511298483129",
        r"$\sqrt{10}\,\bigl(\sqrt{2 \log(1/\delta)} + 1/\sqrt 2\bigr)$",
    ),
    from_golden(
        "RN",
        "Claim 24",
        "amplification of a Renyi divergence by convexity alone, linear in the rate",
        "renyi.papers.zhu_wang.published_bounds.claim_24",
        (
            f"{TEST_PUBLISHED}::test_claim_24",
            f"{TEST_PUBLISHED}::test_claim_24_is_above_the_divergence_and_below_the_unsampled_one",
        ),
        "claim24",
        lambda f, p: f(
            p["lambda"], rate=p["r"], divergence=float(np.asarray(curve_of(p)(np.array([float(p["lambda"])])))[0])
        ),
    ),
    exact(
        "RN",
        "Claim 25",
        r"$(\sum p)^\lambda/(\sum q)^{\lambda-1} \le \sum p^\lambda/q^{\lambda-1}$, for real numbers",
        "renyi.papers.zhu_wang.weak_amplification.claim_25",
        (f"{TEST_PROOFS}::test_claim_25",),
        lambda f: f(2.5, p=(1.0, 2.0), q=(1.0, 3.0)).right,
        "2.0886621079036347103099040332",
        r"$1 + 2^{2.5}/3^{1.5}$",
    ),
    exact(
        "RN",
        "Example 4",
        r"Claim 24 for Gaussian noise, linearised where $(\lambda-1)\,\rho$ is bounded",
        "renyi.papers.zhu_wang.weak_amplification.example_4",
        (f"{TEST_PROOFS}::test_example_4_is_above_claim_24",),
        lambda f: f(2.0, rate=0.015625, noise=4.0, bound=1.0),
        "0.00167800959810453636265653073374",
        r"$r\rho\,(e - 1)$ with $r = 1/64$, $\rho = 1/16$",
    ),
    from_golden(
        "RN",
        "Claim 26",
        r"the moment of the sampled Gaussian is bounded for $r \le c_1/\sigma$, $\lambda \le c_2\sigma^2$: the "
        "constant, computed",
        "renyi.papers.exposition.claim_26.claim_26_constant_integer",
        (
            f"{TEST_CLAIM_26}::test_constant_over_integers",
            f"{TEST_CLAIM_26}::test_the_constant_bounds_every_admitted_moment",
        ),
        "C_sup_integer",
        lambda f, p: f(c1=p["c1"], c2=p["c2"], highest_order=p["lambda_range"][1]).value,
    ),
    exact(
        "RN",
        "Conjecture 1",
        "that no neighbours cost more than the pair on the line: false for samples of a fixed size, here by 19 %",
        "renyi.papers.exposition.conjecture_1.triangle",
        (
            "tests/papers/test_conjecture_1.py::test_the_printed_counterexamples",
            "tests/papers/test_conjecture_1.py::test_against_another_rule",
            "tests/papers/test_conjecture_1.py::test_for_poisson_samples_it_is_true",
        ),
        lambda f: f(2.0, rate=0.01, noise=1.0).divergence,
        "0.00020507487543163044792",
        "two-dimensional integration to 20 digits",
        1e-9,
    ),
    from_golden(
        "RN",
        "Claim 27",
        "the moment of a mixture as a binomial sum, from 0 on (printed from 1)",
        "renyi.papers.exposition.claim_26.claim_27",
        (f"{TEST_CLAIM_26}::test_claim_27_is_the_moment_and_starts_at_zero",),
        "G_lambda",
        lambda f, p: math.exp(
            f(round(p["c2"] * p["sigma_sq"]), rate=p["c1"] / math.sqrt(p["sigma_sq"]), noise=math.sqrt(p["sigma_sq"]))
        ),
    ),
    from_golden(
        "RN",
        "(9.5)",
        "the same for Gaussian noise",
        "renyi.papers.exposition.claim_26.claim_26_moment",
        (f"{TEST_CLAIM_26}::test_moment",),
        "G_lambda",
        lambda f, p: math.exp(f(c1=p["c1"], c2=p["c2"], noise=math.sqrt(p["sigma_sq"]))),
        place=3,
    ),
    from_golden(
        "RN",
        "Claim 28",
        "Route 3 as printed, with the conditions that it needs",
        "renyi.papers.exposition.routes.claim_28",
        (f"{TEST_ROUTES}::test_claim_28", f"{TEST_ROUTES}::test_claim_28_is_refused_where_it_is_false"),
        "route3_delta_printed",
        lambda f, p: f(c2=p["c2"], noise=p["sigma"], epsilon=p["eps"], log_constant=math.log(1.8)).delta,
    ),
    from_golden(
        "RN",
        "delta_1",
        "Route 1: the tail of one Gaussian, sampled, composed by Azuma's inequality",
        "renyi.papers.exposition.routes.route_1_delta",
        (f"{TEST_ROUTES}::test_route_1", f"{TEST_ROUTES}::test_the_comparison"),
        "route1_delta",
        lambda f, p: f(noise=p["sigma"], rate=p["r"], epochs=p["k"], epsilon=p["eps"]),
    ),
    from_golden(
        "RN",
        "delta_2",
        "Route 2: $k$ Gaussian releases by their moments (printed without 1/2 in the exponent)",
        "renyi.papers.exposition.routes.route_2_delta",
        (f"{TEST_ROUTES}::test_route_2", f"{TEST_ROUTES}::test_the_comparison"),
        "route2_delta",
        lambda f, p: f(noise=p["sigma"], epochs=p["k"], epsilon=p["eps"]),
    ),
    from_golden(
        "RN",
        "delta_3",
        r"Route 3, corrected: $\exp(T \log C - (\lambda-1)\,\varepsilon)$",
        "renyi.papers.exposition.routes.route_3_delta",
        (f"{TEST_ROUTES}::test_route_3", f"{TEST_ROUTES}::test_routes_are_above_the_truth_where_it_is_not_tiny"),
        "route3_delta_corrected",
        lambda f, p: f(order=p["c2"] * p["sigma"] ** 2, steps=p["T"], epsilon=p["eps"], log_constant=math.log(p["C"])),
    ),
)
