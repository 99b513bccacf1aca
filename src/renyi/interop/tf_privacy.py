"""TF-Privacy: the arguments of ``compute_dp_sgd_privacy_statement``, answered by this library."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from renyi import check
from renyi.accountants.guarantee import Guarantee
from renyi.accountants.questions import guarantee
from renyi.errors import InvalidInput
from renyi.events.nodes import Grouped
from renyi.interop.one_release import one_release
from renyi.interop.shuffled import shuffled_epochs
from renyi.laws.relation import Adjacency
from renyi.mechanisms.gaussian import Gaussian
from renyi.sampling.poisson.poisson import Poisson
from renyi.signatures import taught


@dataclass(frozen=True, slots=True)
class TfPrivacyStatement:
    """The two numbers of TF-Privacy's statement, each as a guarantee that names its run.

    ``shuffled`` stands for "each example occurring once per epoch": batches cut from a shuffled list, which is what training
    pipelines usually do, and a record blanked out. ``poisson`` holds only if batches really were Poisson samples.
    """

    shuffled: Guarantee
    poisson: Guarantee

    def __str__(self) -> str:
        return f"{self.shuffled}\nOnly if batches were Poisson samples: {self.poisson}"


@taught
def from_tf_privacy(
    number_of_examples: int,
    batch_size: int,
    num_epochs: float,
    noise_multiplier: float,
    delta: float,
    used_microbatching: bool = True,
    max_examples_per_user: int | None = None,
) -> TfPrivacyStatement:
    """What DP-SGD with these arguments of TF-Privacy's ``compute_dp_sgd_privacy_statement`` costs.

    As there, microbatches of more than one example double the sensitivity, which is the default (pass False if
    ``num_microbatches`` was the batch size), and ``max_examples_per_user`` asks for users in place of examples.

    >>> print(from_tf_privacy(60_000, 256, 60, 1.1, 1e-5, used_microbatching=False))
    60 epochs of Gaussian noise (multiplier 1.1) in 235 shuffled batches are (54.0459, 1e-05)-differentially private
    for one record blanked out; an upper bound (the least epsilon is at least 10.8482), by ...
    Only if batches were Poisson samples: 14,063 steps of Gaussian noise (multiplier 1.1) on Poisson samples of rate 0.00426667
    are (2.38169, 1e-05)-differentially private for one record added or removed; both ends agree, by ...
    """
    examples = check.whole(1, number_of_examples=number_of_examples)
    batch = check.whole(1, batch_size=batch_size)
    epochs = Fraction(check.nonnegative(num_epochs=num_epochs))
    noise = check.nonnegative(noise_multiplier=noise_multiplier)
    size = 1 if max_examples_per_user is None else check.whole(1, max_examples_per_user=max_examples_per_user)
    if batch > examples:
        raise InvalidInput(f"batch_size must be at most number_of_examples; got {batch} of {examples} examples.")
    if not isinstance(used_microbatching, bool):
        raise InvalidInput(f"used_microbatching must be True or False; got {used_microbatching!r}.")
    if used_microbatching:
        # A microbatch's mean gradient may turn round when one example leaves: How to DP-fy ML, arXiv:2303.00654, section 5.6.
        noise /= 2.0

    whole, begun = math.floor(epochs), math.ceil(epochs)
    poisson = Gaussian(noise).on(Poisson(batch / examples)) * math.ceil(epochs * examples / batch)
    if size == 1:
        shuffled = shuffled_epochs(noise, steps=-(-examples // batch), whole=whole, cut=begun - whole)
    else:
        # All examples of a user may be in the same batch.
        shuffled = one_release(noise, size) * begun
    once = guarantee(shuffled, delta=delta, adjacency=Adjacency.ZERO_OUT)
    return TfPrivacyStatement(
        shuffled=once if size == 1 else replace(once, unit="user"),
        poisson=guarantee(Grouped(poisson, size), delta=delta),
    )
