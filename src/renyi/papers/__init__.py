"""The numbered results of the four source documents that no accountant needs: theorems, proofs, routes and counterexamples.

docs/theorems.md lists every result with its function and its tests. Only plots, the command line and the tests import this
package.
"""
