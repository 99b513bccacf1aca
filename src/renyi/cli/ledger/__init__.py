"""``renyi ledger``: a budget shared by many, on the command line.

Read ``spend``, then ``place`` (which ledger, which dataset, who pays). Every other file is a command of the same name;
``group`` puts them together.
"""
