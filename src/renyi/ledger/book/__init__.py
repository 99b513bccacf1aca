"""What a ledger writes, as values: no file and no database is touched here.

Read ``dataset``, then ``acts`` (what an entry says) and ``balance`` (what follows from all of them, and what may come next);
``note`` holds who, why and when; ``receipt`` is what a spender takes home.
"""
