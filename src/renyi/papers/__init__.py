"""The numbered results of the source documents that no accountant needs: theorems, proofs, routes and counterexamples.

docs/theorems.md lists every result with its function and its tests. Only plots, the command line and the tests import this
package. One folder per document: ``zhu_wang`` (with its supplement), ``sampled_gaussian``, ``exposition``.
"""
