"""What follows a run while it trains: ``Run(..., callback=...)`` takes one of these, or any function of a ``Moment``.

Read ``moment``; then ``progress`` (a bar), ``log_to`` (anybody's logger or bar) and ``stopping`` (a callback ends the run).
"""
