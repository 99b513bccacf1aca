"""What is printed otherwise in the documents than it holds, by document: where, and what is right."""

from __future__ import annotations

ERRATA: dict[str, tuple[tuple[str, str], ...]] = {
    "ZW": (
        (
            "(2), (3)",
            "the curve is taken at the order itself, not at the order less one. The printed form is no guarantee: "
            "Gaussian noise "
            "0.1 at a delta of 0.1 would have epsilon 21.46, whose true delta is 0.997; the right form gives 71.46",
        ),
        (
            "Theorem 5",
            "orders are integers from 2 on, which is essential; a brace that closes the logarithm is missing",
        ),
        (
            "Theorem 6",
            "words are missing in the statement; in the proof the arguments of a divergence, and the two datasets, are "
            "interchanged",
        ),
        (
            "After Theorem 6",
            "exchanging the two datasets gives no larger lower bound if the curve is that of both directions",
        ),
        ("RDP of Laplace", "a bracket that closes the logarithm is missing"),
        (
            "Theorem 11",
            r"needs $2 \le \tau \le \alpha/2$ and a curve that does not fall, and calls it $2\tau$ times; main text and "
            "supplement state "
            "two forms, both valid, the main text's the sharper",
        ),
        (
            "Small rates",
            r"the divergence is about $\gamma^2 \alpha\,(e^{\varepsilon(2)} - 1)/2$: the square of "
            r"$\alpha$ belongs to the log-moment",
        ),
    ),
    "ZWs": (
        (
            "(6), (7)",
            "hold at even orders only, for Jensen's inequality is used where the function is not convex: randomized response "
            "0.01/0.99, $\\gamma = 0.1$, order 3 has 1.21957 on the left and -3.61846 on the right. Theorems 5 and 8 survive",
        ),
        ("Lemma 16", r"one of the means is under $\pi$"),
        ("Theorem 18", "two signs and a parity are misprinted, and the densities' arguments"),
        (
            "Appendix D",
            r"the first form of the second moment is a mean under the mixture; the mixture has the weight $1 - \gamma$",
        ),
        (
            "Lemma 14",
            "needs the curve of both directions: $p = (0, 1)$, $q = (0.01, 0.99)$ at order 3 has 1.0403 on the left, and "
            "1.0306 on the right from one direction alone",
        ),
    ),
    "MTZ": (
        ("Theorem 4", "the guarantee is any epsilon above the bound, not below it"),
        (
            "Theorem 5",
            "the involution must preserve measure: without that there is a counterexample on four points (0.46083 against "
            "0.75264); integrals in its proof are moments, not divergences; $q$ and $1 - q$ are interchanged in Lemma 6",
        ),
        ("(4), (5)", "the orders that they admit are an interval, which is proved in the function's docstring"),
        (
            "Table 1",
            r"the row of Abadi et al. needs a noise of at least 1, and its remainder is of the second order in $\alpha$ after "
            "the division",
        ),
        (
            "(14)",
            "the arguments of the divergence are interchanged: for (0.7, 0.3) against (0.2, 0.8) at 2 the moment is 8.61719, "
            "and the printed divergence gives 5.70522",
        ),
        (
            "Definition 12",
            r"CDP bounds the centred loss, for all real orders; tCDP holds up to $\omega - 1$. The sampled Gaussian "
            "does satisfy zCDP, "
            r"but with no $\rho$ that sampling improves",
        ),
    ),
    "RN": (
        ("Max divergence", "the maximum is over events, not over points"),
        ("Claim 21.2", r"the sign belongs into the exponent: $\exp(-\kappa^*)$"),
        ("Example 2", r"the best $\lambda$ is $(1 + 2\varepsilon\sigma^2)/2$; the printed one can lie below 1"),
        ("Claim 25", "holds for nonnegative reals; its proof means Claim 24"),
        ("Claim 26", "$G$ is at least 1, so its limit is not 0; the constant is finite, and explodes with $c_2$"),
        (
            "Claim 28",
            r"$\delta \le \exp(T \log C - (\lambda - 1)\,\varepsilon)$; the printed form follows only under further conditions "
            "and with the supremum as constant",
        ),
        (
            "Comparison",
            r"$k \exp(-\kappa^*)$ takes the square root of $\varepsilon/(rk)$, and the Gaussian exponents lack a half",
        ),
        (
            "Conjecture 1",
            "true for Poisson sampling with add-or-remove neighbours, false in the setting it is posed in: see the routes",
        ),
    ),
}
