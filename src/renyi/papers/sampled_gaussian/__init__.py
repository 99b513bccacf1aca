"""Mironov, Talwar & Zhang (2019), arXiv:1908.10530: the sampled Gaussian mechanism.

Read ``mironov_talwar_zhang``, the results in the paper's order, then ``proofs``. ``decimal_erfcx`` gives the digits that they
need.
"""
