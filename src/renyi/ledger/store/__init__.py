"""Where a ledger is kept: SQLite in a file, or PostgreSQL by URL, through SQLAlchemy Core. Only this folder imports it.

Read ``schema`` (the tables), ``page`` (what is read and written inside one transaction), then ``store`` (transactions and
retries) with its two kinds, ``sqlite`` and ``postgresql``. ``migrations`` brings older tables up to date; ``address`` keeps
passwords out of sight.
"""
