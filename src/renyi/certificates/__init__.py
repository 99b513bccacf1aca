"""Proofs of an epsilon that somebody who does not trust this library can check.

Read ``checker``: one file, which needs python-flint and nothing of ours, and whose docstring is the proof. Then ``certificate``
(what is filed) and ``proving`` (how the numbers that choose a proof are found; whatever it does, only the checker decides).
"""

from renyi.certificates.certificate import ByContour, ByOrder, Certificate, CertificateRefused
from renyi.certificates.proving import certify

__all__ = ["ByContour", "ByOrder", "Certificate", "CertificateRefused", "certify"]
