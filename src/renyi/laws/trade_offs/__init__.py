"""The trade-off function: what an attacker's error rates can be at best, between straight lines.

Read ``trade_off``, then ``lines``: each epsilon is a line above the curve, and the lowest ones bound it.
"""
