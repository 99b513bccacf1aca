"""One thread for torch, and entropy that repeats: what a test draws follows from the seed and from the test's name."""

from __future__ import annotations

import os
import random
import secrets

import numpy as np
import pytest
import torch

from renyi.training import seeded
from renyi.training.randomness.entropy import Keys
from tests import examples

torch.set_num_threads(1)  # the tensors of these tests are small, and the tests themselves run side by side


@pytest.fixture(autouse=True)
def repeatable_entropy(request, monkeypatch):
    """The operating system's random bytes, and the global generators, as they are for this test in every run.

    Training takes its secrets from the system, so a test of a hundred draws would fail one day. Processes that a test starts
    are not reached; what they draw decides nothing.
    """
    source = random.Random(f"{examples.SEED} {request.node.nodeid}")
    monkeypatch.setattr(os, "urandom", source.randbytes)
    monkeypatch.setattr(secrets, "token_bytes", lambda count=32: source.randbytes(count))
    torch.manual_seed(source.getrandbits(32))
    np.random.seed(source.getrandbits(32))
    random.seed(source.getrandbits(32))


@pytest.fixture(params=["seeded", "operating system"])
def keys(request):
    """Keys of either source."""
    return seeded(1) if request.param == "seeded" else Keys()
