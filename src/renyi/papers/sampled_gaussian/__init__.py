"""Mironov, Talwar & Zhang (2019), arXiv:1908.10530: the sampled Gaussian mechanism."""
