"""The numbered results of the four documents that no accountant needs: theorems, proofs, routes, and what refutes them.

docs/theorems.md lists every result with its function and its tests. Only plots, the command and the tests import this room.
"""
