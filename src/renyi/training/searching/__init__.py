"""The best of a secret number of runs, of which nothing else is seen.

Read ``search`` (what is promised, and the order in which things happen), then ``number`` (how many runs), ``covering`` (which
plans may compete under one price) and ``contest`` (one run after another, and the best so far).
"""
