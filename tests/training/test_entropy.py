"""Keys: from the operating system, one for each use, and never shown, copied or stored."""

from __future__ import annotations

import copy
import pickle
import secrets

import pytest
import torch

from renyi.training import TrainingError, seeded
from renyi.training.randomness.entropy import Keys


def test_every_use_has_its_own_key_of_256_bits():
    keys = Keys()
    made = {
        keys.key(purpose, step, name)
        for purpose in ("noise", "draw")
        for step in range(50)
        for name in ("a", "b", "ab", "")
    }
    assert len(made) == 400
    assert {len(key) for key in made} == {32}
    assert keys.key("noise", 1, "a") == keys.key("noise", 1, "a")
    assert keys.key("noisea", 1, "") != keys.key("noise", 1, "a")


def test_two_runs_have_unrelated_keys_whatever_torch_is_seeded_with():
    torch.manual_seed(42)
    first = Keys()
    torch.manual_seed(42)
    assert first.key("noise", 0, "w") != Keys().key("noise", 0, "w")
    assert seeded(42).key("noise", 0, "w") == seeded(42).key("noise", 0, "w")
    assert seeded(42).key("noise", 0, "w") != seeded(43).key("noise", 0, "w")


def test_the_secret_is_what_the_operating_system_gave(monkeypatch):
    monkeypatch.setattr(secrets, "token_bytes", lambda count: bytes(range(count)))
    assert Keys()._secret == bytes(range(32))


def test_the_secret_does_not_show():
    keys = Keys()
    secret = keys._secret
    assert len(secret) == 32
    for text in (repr(keys), str(keys), f"{keys}"):
        assert secret.hex() not in text
        assert repr(secret)[2:-1] not in text
    assert "not private" in repr(seeded(1))
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TrainingError, match="never copied or stored"):
            leak(keys)
    assert not hasattr(keys, "__dict__")
