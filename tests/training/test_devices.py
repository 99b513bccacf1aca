"""A run on every device of this machine trains what one on the host does."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from renyi.training import AdaptiveClip, seeded
from tests.training.support import dataset, model, run, train, weights

ACCELERATOR = torch.accelerator.current_accelerator(check_available=True)
DEVICES = ["cpu", *([ACCELERATOR.type] if ACCELERATOR is not None else [])]


def embedded():
    torch.manual_seed(3)
    return nn.Sequential(nn.Embedding(9, 8), nn.LayerNorm(8), nn.Flatten(), nn.Linear(40, 3))


def tokens():
    generator = torch.Generator().manual_seed(4)
    return TensorDataset(
        torch.randint(0, 9, (60, 5), generator=generator), torch.randint(0, 3, (60,), generator=generator)
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("build", "data"), [(model, dataset), (embedded, tokens)])
def test_a_run_on_a_device_trains_what_one_on_the_host_does(tmp_path, device, build, data):
    """The same draws, and noise from the same stream, which a device computes by itself."""
    found = []
    for place in ("cpu", device):
        net = build().to(place)
        clip = AdaptiveClip(1.0, count_noise_multiplier=5.0)
        folder = tmp_path / f"{len(found)}"
        folder.mkdir()
        made = train(run(folder, net=net, keys=seeded(1), clip=clip), data())
        assert all(parameter.device.type == place for parameter in net.parameters())
        found.append((weights(net).cpu(), made.record.bound))
        made.close()
    assert torch.allclose(found[0][0], found[1][0], rtol=0, atol=1e-5)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-5)
