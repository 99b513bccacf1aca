"""The assumptions of a training guarantee, in words: conditions outside the code, which it cannot check."""

from __future__ import annotations

from renyi.training.planning.plan import Plan

PREPROCESSING = (
    "preprocessing: whatever was computed from the private data before training (normalisation statistics, "
    "vocabularies, tokenizers, deduplication, neighbour graphs, mixed examples) is not covered; each unit's input is "
    "a function of that unit alone"
)
PRETRAINING = (
    "pretraining: the initial weights, and any tokenizer or model used on the way, were made without the private "
    "data, or their cost is added"
)
NOISE = (
    "noise: what is released is the real-valued output of the Gaussian mechanism, rounded to a public grid of about a "
    "thousandth of the noise's deviation (in the journal for every step), without any other error: low bits tell nothing"
)
ROUNDING = (
    "rounding: the sum of clipped gradients is formed in float32 before noise is added; that its rounding depends on who is "
    "in the batch is not covered, beyond a share of 2^-20 by which every unit's bound is enlarged"
)
RECORD = (
    "record: this is computed from a journal of {lines} lines whose last hash is {head}; one that was cut at a line's end, or "
    "restored from a backup, has another. It was written by one host, to a local file system"
)
ROWS_ARE_UNITS = (
    "units: that every row of the dataset is one {unit}, and no {unit} has two, was declared (rows_are_units=True), not "
    "checked"
)
ONE_ROW = (
    "rows: every row of the dataset is one example, and no record is in two; of repetitions, only those that a Subset or "
    "ConcatDataset shows were looked for"
)
SIDE_CHANNELS = (
    "side channels: running times, numbers of chunks, memory use and errors depend on the batch and are not covered; nor is "
    "whoever can read the process, its core dumps or a snapshot of its machine, where secret keys and sums are"
)
GENERATOR = (
    "generator: noise and draws come from ChaCha20 under secret keys of 256 bits, taken to be indistinguishable from true "
    "randomness"
)
ONE_RUN = (
    "one run: this covers this run only; further runs, hyper-parameter search, best checkpoints and early stopping "
    "judged on private data cost extra"
)
STATISTICS = (
    "statistics: losses, norms and clipped fractions that were revealed with .reveal() carry no noise and are not "
    "covered"
)
OPTIMIZER = (
    "optimizer: its update is a function of the noisy gradients, the weights and public constants; what it takes from data by "
    "itself carries no noise. Gradients that are written before the update are noticed; inside it they cannot be told from "
    "weight decay"
)
NETWORK = (
    "network: {processes} processes trained together; the secret key and the sums before noise passed between them, over a "
    "network that nobody else could read or write. All of them had the same dataset, of which samples were compared"
)
SEEDED = "NOT PRIVATE: noise and batches came from a public seed, for testing; anybody can take the noise away"
PLANNED = (
    "stopping: the stop may have depended on what the run released, so this is the cost of all planned steps ({done} "
    "of {planned} were released); run.stop(data_independent=True) declares otherwise"
)
DECLARED = (
    "stopping: the run was stopped after {done} of {planned} steps, declared to be for reasons that depend on no "
    "private data"
)
AT_A_FIXED_TIME = (
    "stopping: {done} of {planned} steps were released; this number is a guarantee only if the moment of looking was "
    "fixed beforehand"
)


def of_plan(plan: Plan) -> tuple[str, ...]:
    """The assumptions of every run of a plan."""
    return (
        f"unit: the guarantee is for one {plan.unit}, under {plan.adjacency.value} neighbours",
        f"scheme: at each step every {plan.unit} was drawn independently with probability {plan.sampling.rate!r} by "
        "the run's own sampler; the sum of clipped gradients was divided by the declared constant "
        f"{plan.expected_batch:g}",
        *((ONE_ROW,) if plan.unit == "example" else ()),
        PREPROCESSING,
        PRETRAINING,
        ONE_RUN,
        STATISTICS,
        OPTIMIZER,
        NOISE,
        ROUNDING,
        GENERATOR,
        SIDE_CHANNELS,
    )
