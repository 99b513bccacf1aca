"""One thread for torch: the tensors of these tests are small, and the tests themselves run side by side."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
