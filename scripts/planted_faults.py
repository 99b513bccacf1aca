"""Faults to plant one at a time, each with the test of the short suite that must notice it.

Most are slips that anybody could make: an error dropped, a relation swapped, a clip forgotten. Those marked ``was_ours`` are
faults that CHANGELOG.md lists as mended.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """``text``, which occurs once in ``file``, becomes ``planted``; ``test`` must then fail."""

    sentence: str
    file: str
    text: str
    planted: str
    test: str
    was_ours: bool = False


FAULTS = [
    # Mechanisms.
    Fault(
        "replacing a record counts as moving the sum by one contribution instead of two",
        "src/renyi/mechanisms/gaussian.py",
        "GaussianPair(self.noise_multiplier / relation.distance)",
        "GaussianPair(self.noise_multiplier)",
        "tests/sampling/test_replaced_pair.py::test_replacing_a_record_of_a_gaussian_sum_moves_it_twice_as_far",
    ),
    Fault(
        "the rounding error of the Laplace curve is dropped",
        "src/renyi/mechanisms/laplace.py",
        "raised(laplace_divergence(order, scale), 64 * ULP)",
        "laplace_divergence(order, scale)",
        "tests/mechanisms/test_golden.py::test_laplace_curve",
    ),
    Fault(
        "half of the mass beyond both centres of Laplace noise is lost",
        "src/renyi/mechanisms/laplace.py",
        "[[math.log(0.5), math.log(0.5) - 1.0 / scale]",
        "[[math.log(0.5), math.log(0.25) - 1.0 / scale]",
        "tests/mechanisms/test_golden.py::test_laplace_matches_its_own_law_at_the_edges",
    ),
    Fault(
        "each of several lies is as likely as all of them together",
        "src/renyi/mechanisms/randomized_response.py",
        "lie = (1.0 - truth) / others",
        "lie = 1.0 - truth",
        "tests/mechanisms/test_golden.py::test_k_ary_randomized_response_matches_brute_force",
    ),
    Fault(
        "a finite pair is the same whether the record is added or removed",
        "src/renyi/mechanisms/finite.py",
        "return pair if relation.record_first or relation is Relation.REPLACE else pair.reversed()",
        "return pair",
        "tests/mechanisms/test_brute_force.py::test_curve_is_the_brute_force_sum",
    ),
    Fault(
        "a bound of concentrated DP is scaled by 1 - 1e-6",
        "src/renyi/mechanisms/zcdp.py",
        "value = raised(offset + slope * order, 4 * ULP)",
        "value = raised(offset + slope * order, 4 * ULP) * (1.0 - 1e-6)",
        "tests/mechanisms/test_brute_force.py::test_concentrated_dp_is_a_line_and_truncation_ends_it",
    ),
    # Sampling.
    Fault(
        "the general bound on Poisson samples loses one power of e^eps in every term",
        "src/renyi/sampling/poisson/general_bound.py",
        "log_rise = log_expm1(np.arange(1.0, values.size + 1.0) * values)",
        "log_rise = log_expm1(np.arange(0.0, values.size) * values)",
        "tests/sampling/test_general_bound.py::test_no_finite_pair_violates_it_in_either_direction",
    ),
    Fault(
        "the error of the sampled Gaussian's curve is dropped",
        "src/renyi/sampling/poisson/poisson.py",
        "return raised(sampled(order), law_error(order))",
        "return sampled(order)",
        "tests/sampling/test_edges.py::test_corners_of_the_sampled_gaussian",
    ),
    Fault(
        "adding a record to a sample counts as covering its removal",
        "src/renyi/sampling/poisson/poisson.py",
        "covers = relation.record_first and pair is not None",
        "covers = pair is not None",
        "tests/contracts/test_contracts.py::test_a_curve_that_claims_to_cover_the_opposite_relation_does",
    ),
    Fault(
        "adding and removing are exchanged on a Poisson sample",
        "src/renyi/sampling/poisson/poisson.py",
        "return pair if relation.record_first else pair.reversed()\n\n    def grouped_pair",
        "return pair.reversed() if relation.record_first else pair\n\n    def grouped_pair",
        "tests/contracts/test_contracts.py::test_curve_is_the_quadrature_of_the_pair",
    ),
    Fault(
        "the mass at infinite loss is lost on a Poisson sample",
        "src/renyi/sampling/poisson/pair.py",
        "return 0.0 if self.adding else self.rate * self.base.infinite_mass",
        "return 0.0",
        "tests/accountants/test_ends_of_the_range.py::test_infinite_epsilon_leaves_the_mass_at_infinity",
    ),
    Fault(
        "delta of tiny losses with a record added comes from a difference of large numbers",
        "src/renyi/sampling/poisson/pair.py",
        "inner = np.where(np.abs(rise) < 0.5, np.log1p(rise), epsilon + np.log(self.rate) - log_c)",
        "inner = epsilon + np.log(self.rate) - log_c",
        "tests/test_never_below.py::test_tiny_losses_on_a_sample_added_or_removed",
        was_ours=True,
    ),
    Fault(
        "the size of a dataset wraps around at 2^31 records",
        "src/renyi/sampling/truncated_poisson/truncated_poisson.py",
        "n, batch, left = self.dataset, float(self.batch), float(self.dataset - self.batch)",
        "n, batch, left = self.dataset, float(self.batch), float((self.dataset - self.batch) % 2**31)",
        "tests/sampling/test_truncated_poisson.py::test_tails_of_large_datasets",
        was_ours=True,
    ),
    Fault(
        "a sample of everybody answers for add-or-remove neighbours",
        "src/renyi/sampling/without_replacement.py",
        "if relation is not Relation.REPLACE and self.batch > 0:",
        "if relation is not Relation.REPLACE and 0 < self.batch < self.dataset:",
        "tests/sampling/test_without_replacement.py::test_all_of_them_is_still_of_a_fixed_size",
        was_ours=True,
    ),
    Fault(
        "the error of random allocation is dropped, and a millionth more",
        "src/renyi/sampling/random_allocation/random_allocation.py",
        "found = [raised(one(order), _RELATIVE_ERROR) for one in moments]",
        "found = [one(order) * (1.0 - 1e-6) for one in moments]",
        "tests/sampling/test_random_allocation.py::test_two_steps_in_both_directions_by_integration_in_the_plane",
    ),
    # Composing.
    Fault(
        "a pair that only dominates is taken for one that neighbours realise",
        "src/renyi/composing/steps.py",
        "return pair, None if pair is None else pair.below()",
        "return pair, pair",
        "tests/accountants/test_exact.py::test_a_pair_that_only_dominates_has_no_lower_end_and_renyi_may_win",
    ),
    Fault(
        "the cheapest relation decides instead of the dearest",
        "src/renyi/composing/compose.py",
        "worse = other if other.found.interval.upper > self.found.interval.upper else self",
        "worse = other if other.found.interval.upper < self.found.interval.upper else self",
        "tests/accountants/test_exact.py::test_truth_lies_between_the_ends",
    ),
    Fault(
        "a second relation is passed over without a look",
        "src/renyi/composing/compose.py",
        "if worst is not None and _is_ruled_out(methods, steps, question, worst.found):",
        "if worst is not None:",
        "tests/composing/test_compose.py::test_the_dearest_relation_decides",
    ),
    Fault(
        "the mass at infinity is not taken off delta before a contour spends it",
        "src/renyi/composing/contour/contour.py",
        "spent = delta - run.escaped",
        "spent = delta",
        "tests/accountants/test_exact.py::test_a_failure_beside_a_contour_takes_its_probability_off_delta",
    ),
    Fault(
        "the upper end of a contour is a millionth too low",
        "src/renyi/composing/contour/contour.py",
        "return Interval(max(lower, 0.0), max(upper, 0.0))",
        "return Interval(max(lower, 0.0) * (1.0 - 1e-6), max(upper, 0.0) * (1.0 - 1e-6))",
        "tests/accountants/test_exact.py::test_truth_lies_between_the_ends",
    ),
    Fault(
        "steps whose losses floats cannot hold are taken for steps that reveal nothing",
        "src/renyi/composing/steps.py",
        "excess(pair, np.zeros(1))[0] != -math.inf",
        "excess(pair, np.zeros(1))[0] < -1e-3",
        "tests/test_never_below.py::test_next_to_no_noise",
    ),
    Fault(
        "lattices of many scales hold losses that have no digits left",
        "src/renyi/composing/scales.py",
        "if not top <= FAR:",
        "if False:",
        "tests/test_never_below.py::test_next_to_no_noise",
    ),
    Fault(
        "infinite losses taken out of a grid do not move the finite ones",
        "src/renyi/composing/grid/infinite_atoms.py",
        "found = ask(self.steps, DeltaAt(epsilon + self.shift))",
        "found = ask(self.steps, DeltaAt(epsilon))",
        "tests/composing/test_infinite_atoms.py::test_both_ends_hold_the_truth_and_are_close",
    ),
    Fault(
        "releases spend delta that is spent once more on their composition",
        "src/renyi/accountants/classical/division.py",
        "left = _budget(delta) * (1.0 - 4.0 * ULP) - raised(spent + count * _budget(share), 8.0 * ULP)",
        "left = _budget(delta)",
        "tests/accountants/test_classical.py::test_one_level_is_not_spent_twice",
    ),
    # Laws.
    Fault(
        "guarantees for add-or-remove neighbours look at removing alone",
        "src/renyi/laws/relation.py",
        "Adjacency.ADD_OR_REMOVE: (Relation.REMOVE, Relation.ADD),",
        "Adjacency.ADD_OR_REMOVE: (Relation.REMOVE,),",
        "tests/laws/test_called_curve.py::test_a_textbook_formula_is_never_answered_below_the_truth",
    ),
    Fault(
        "many chances to fail count as one",
        "src/renyi/laws/curves/curve.py",
        "return min(raised(-math.expm1(count * math.log1p(-mass)), 4 * ULP), 1.0)",
        "return mass",
        "tests/contracts/test_contracts.py::test_repeating_is_composing",
    ),
    Fault(
        "a group's curve lacks the factor of the weak triangle inequality",
        "src/renyi/laws/curves/group.py",
        "top * inverses * divergence",
        "divergence",
        "tests/events/test_grouped.py::test_users_whose_examples_differ_stay_below_the_mixture",
    ),
    Fault(
        "the number of runs of a search is free",
        "src/renyi/laws/curves/tuned.py",
        "value = larger + (1.0 + self._shape) * self._extra + math.log(self._mean) / s",
        "value = larger + (1.0 + self._shape) * self._extra",
        "tests/events/test_tuned.py::test_the_formula_as_printed_for_a_gaussian",
    ),
    Fault(
        "the rounding of a user's formula next to order 1 is not added",
        "src/renyi/laws/curves/called.py",
        "upper = raised(value, 8.0 * ULP) + rounding * order / (order - 1.0)",
        "upper = raised(value, 8.0 * ULP)",
        "tests/laws/test_called_curve.py::test_a_textbook_formula_is_never_answered_below_the_truth",
        was_ours=True,
    ),
    Fault(
        "the conversion to delta lacks its rounding error",
        "src/renyi/laws/conversion.py",
        "found.append((value, 4.0 * ULP * terms if math.isfinite(value) else 0.0))",
        "found.append((value, 0.0))",
        "tests/laws/test_conversion.py::test_published_delta_and_epsilon_at_one_order",
    ),
    Fault(
        "the conversion to epsilon subtracts log(alpha)/(alpha - 1) twice",
        "src/renyi/laws/conversion.py",
        "return (moment - log_delta - math.log1p(s)) / s - math.log1p(1.0 / s)",
        "return (moment - log_delta - 2.0 * math.log1p(s)) / s - math.log1p(1.0 / s)",
        "tests/laws/test_conversion.py::test_epsilon_at_one_order",
    ),
    Fault(
        "delta of Gaussians is a difference of numbers that overflow for enormous losses",
        "src/renyi/laws/pairs/gaussian.py",
        "np.log(ndtr(b) - 0.5 * np.exp(-0.5 * b * b) * erfcx((gap - b) / math.sqrt(2.0)))",
        "np.log(ndtr(b) - np.exp(size[~far]) * ndtr(b - gap))",
        "tests/laws/test_density_pair.py::test_short_and_long_intervals",
        was_ours=True,
    ),
    Fault(
        "repeated Gaussian noise is rounded up instead of down",
        "src/renyi/laws/pairs/gaussian.py",
        "GaussianPair(self.noise / math.sqrt(count) * (1.0 - 2 * ULP))",
        "GaussianPair(self.noise / math.sqrt(count) * (1.0 + 2 * ULP))",
        "tests/laws/test_gaussian_pair.py::test_a_repetition_has_no_more_noise_than_it_should",
    ),
    Fault(
        "what a law leaves beyond its last point is lost instead of an infinite loss",
        "src/renyi/laws/dots/dots.py",
        "infinite = math.exp(min(float(points.log_v[-1]), 0.0))",
        "infinite = 0.0",
        "tests/laws/test_dots.py::test_the_laws_above_and_below_enclose_the_profile",
    ),
    Fault(
        "a law below another may have more mass than one",
        "src/renyi/laws/dots/dots.py",
        "    lowered, infinite = falling(lowered, infinite)\n",
        "",
        "tests/laws/test_dots.py::test_finite_laws_are_enclosed_wherever_the_points_are",
        was_ours=True,
    ),
    Fault(
        "what a density has beyond its interval is free",
        "src/renyi/laws/pairs/density.py",
        "return np.log(np.minimum(value * (1.0 + _QUADRATURE_ERROR) + unseen, 1.0))",
        "return np.log(np.minimum(value * (1.0 + _QUADRATURE_ERROR), 1.0))",
        "tests/laws/test_density_pair.py::test_what_an_interval_does_not_show_is_not_free",
        was_ours=True,
    ),
    # Numerics.
    Fault(
        "a sum of levels is rounded to nearest instead of up",
        "src/renyi/numerics/rounding.py",
        "return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)",
        "return nearest",
        "tests/numerics/test_rounding.py::test_no_float_lies_between_an_exact_value_and_the_one_above_it",
    ),
    Fault(
        "e^y - 1 - y of a small y loses the last terms of its series",
        "src/renyi/numerics/remainder.py",
        "for n in range(13, 2, -1):",
        "for n in range(6, 2, -1):",
        "tests/mechanisms/test_golden.py::test_laplace_curve",
    ),
    # Events.
    Fault(
        "an event that is appended several times counts once",
        "src/renyi/events/builder.py",
        "self._counts[atom] = self._counts.get(atom, 0) + times",
        "self._counts[atom] = times",
        "tests/events/test_events.py::test_many_appended_steps_build_the_run",
    ),
    Fault(
        "a number that no float holds is read as infinity",
        "src/renyi/events/document.py",
        "    value = float(digits)\n    if math.isinf(value):",
        "    value = float(digits)\n    if math.isnan(value):",
        "tests/events/test_limits.py::test_numbers_that_no_float_holds_are_not_infinite",
        was_ours=True,
    ),
    Fault(
        "a field that a document gives twice has its last value",
        "src/renyi/events/document.py",
        "if len(fields) < len(pairs):",
        "if len(fields) > len(pairs):",
        "tests/events/test_limits.py::test_large_documents_are_refused_in_few_words",
    ),
    # Calibration.
    Fault(
        "a search for a whole number returns the first that misses the target",
        "src/renyi/calibration/search.py",
        "            bad = middle\n    return good",
        "            bad = middle\n    return bad",
        "tests/test_calibration.py::test_steps",
    ),
    Fault(
        "a search meets its target up to a millionth",
        "src/renyi/calibration/search.py",
        "        if cost(middle) <= limit:\n            inside = middle",
        "        if cost(middle) <= limit * (1.0 + 1e-6):\n            inside = middle",
        "tests/test_calibration.py::test_noise_meets_the_target_and_a_little_less_does_not",
    ),
    # Accountants.
    Fault(
        "the Renyi accountant spends delta twice: on the failure and on the conversion",
        "src/renyi/composing/renyi.py",
        "spent = delta if mass == 0.0 else (delta - mass) / (1.0 - mass) * (1.0 - 4 * ULP)",
        "spent = delta",
        "tests/contracts/test_contracts.py::test_delta_falls_with_epsilon_and_inverts_it",
    ),
    Fault(
        "the divergence of an event is that of its last relation, not of the worst",
        "src/renyi/accountants/questions.py",
        "worst = np.maximum(worst, curve(flat))",
        "worst = curve(flat)",
        "tests/mechanisms/test_brute_force.py::test_densities_equal_the_mechanism_they_describe",
    ),
    # The journal.
    Fault(
        "a line whose payload was changed is not held against its hash",
        "src/renyi/ledger/journal.py",
        "if entry.hash != _digest(entry.sequence, entry.previous, entry.payload):",
        "if False:",
        "tests/ledger/test_journal.py::test_every_changed_byte_is_noticed_and_the_line_is_named",
    ),
    Fault(
        "a line that was taken out of the middle is not missed",
        "src/renyi/ledger/journal.py",
        "if entry.sequence != number or entry.previous != head:",
        "if entry.sequence < number:",
        "tests/ledger/test_journal.py::test_a_missing_line_is_noticed",
    ),
    Fault(
        "a line counts before it is on disk",
        "src/renyi/ledger/journal.py",
        "                    written += os.write(self._file, line[written:])\n                os.fsync(self._file)",
        "                    written += os.write(self._file, line[written:])",
        "tests/ledger/test_journal.py::test_the_file_and_its_directory_are_forced_to_disk_before_append_returns",
    ),
    Fault(
        "bytes that another process wrote into the journal go unnoticed",
        "src/renyi/ledger/journal.py",
        "if held.st_size != self._size:",
        "if held.st_size < self._size:",
        "tests/ledger/test_journal.py::test_a_file_that_changes_while_it_is_open_is_noticed_before_anything_is_written",
        was_ours=True,
    ),
    Fault(
        "replay believes what a release says of itself",
        "src/renyi/training/recording/record.py",
        "                _expect_same(payload, released(self._plan, self._hash, self.steps, bound=bound))\n",
        "",
        "tests/training/test_replay.py::test_a_crafted_journal_is_refused_and_the_line_is_named",
    ),
    Fault(
        "a release is left out of what the journal's run cost",
        "src/renyi/training/recording/record.py",
        "                self._events.add(self._plan.event(self.steps))\n",
        "                if self.steps:\n                    self._events.add(self._plan.event(self.steps))\n",
        "tests/training/test_replay.py::test_an_honest_journal_is_replayed",
    ),
    Fault(
        "a stop that looked at the data is charged as if it had not",
        "src/renyi/training/recording/record.py",
        "if self.stopped and self.data_independent:",
        "if self.stopped:",
        "tests/training/test_run.py::test_a_stop_that_may_depend_on_outputs_costs_the_planned_maximum",
    ),
    # Training.
    Fault(
        "gradients are not clipped",
        "src/renyi/training/clipping/factors.py",
        "(limits * SHAVE[norms.dtype] / norms).clamp(max=1)",
        "torch.ones_like(norms)",
        "tests/training/clipping/test_clipper.py::test_groups_are_clipped_by_their_own_norms",
    ),
    Fault(
        "gradients below the bound are scaled up to it",
        "src/renyi/training/clipping/factors.py",
        "(limits * SHAVE[norms.dtype] / norms).clamp(max=1)",
        "(limits * SHAVE[norms.dtype] / norms)",
        "tests/training/clipping/test_clipper.py::test_groups_are_clipped_by_their_own_norms",
    ),
    Fault(
        "the step is taken without noise",
        "src/renyi/training/release.py",
        "round_in_place(list(gradients.values()), deviation=deviation, grid=grid, keys=keys)",
        "round_in_place(list(gradients.values()), deviation=0.0, grid=grid, keys=keys)",
        "tests/training/test_run.py::test_the_update_is_the_clipped_sum_plus_noise_over_the_declared_batch",
    ),
    Fault(
        "noise does not grow with the clip bound",
        "src/renyi/training/recording/record.py",
        "deviation = plan.noise_at(step) * bound * SLACK",
        "deviation = plan.noise_at(step) * SLACK",
        "tests/training/test_run.py::test_every_row_of_the_journal_says_what_was_used",
    ),
    Fault(
        "every parameter gets the same noise",
        "src/renyi/training/release.py",
        'keys = [self._keys.key("noise", step, name) for name in gradients]',
        'keys = [self._keys.key("noise", step) for name in gradients]',
        "tests/training/test_run.py::test_the_update_is_the_clipped_sum_plus_noise_over_the_declared_batch",
    ),
    Fault(
        "the noise has nine tenths of its variance",
        "src/renyi/training/randomness/noise.py",
        "radius *= -2.0",
        "radius *= -1.8",
        "tests/training/test_noise.py::test_every_cell_is_that_of_the_ideal_sum",
    ),
    Fault(
        "a doubt about the cell of a noisy value is not resolved",
        "src/renyi/training/randomness/noise.py",
        "doubt = ERROR * scale + (2.0**-22 if single else 2.0**-50) * largest",
        "doubt = 0.0 * largest",
        "tests/training/test_noise.py::test_low_bits_are_not_repeated",
        was_ours=True,
    ),
    Fault(
        "units are drawn at a rate that is up to 1/256 too high",
        "src/renyi/training/randomness/sampler.py",
        "np.flatnonzero(first_bits < decisive)",
        "np.flatnonzero(first_bits <= decisive)",
        "tests/training/test_sampler.py::test_inclusion_and_batch_sizes_over_a_million_draws",
    ),
    Fault(
        "keys may serve two runs, whose noise cancels",
        "src/renyi/training/randomness/entropy.py",
        "        self._bound = True",
        "        self._bound = False",
        "tests/training/test_watch.py::test_keys_belong_to_one_run",
    ),
    Fault(
        "the noisy count of adaptive clipping is free",
        "src/renyi/training/planning/plan.py",
        "gradient = gradient + Gaussian(clip.count_noise_multiplier)",
        "gradient = Gaussian(noise)",
        "tests/training/test_plan.py::test_calibration_with_a_schedule_and_an_adaptive_clip_counts_everything",
    ),
]
