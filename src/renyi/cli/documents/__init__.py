"""Commands that write or read a document: statements, certificates, plots.

Read ``report``, then ``verify``, which reads a certificate from anybody.
"""
