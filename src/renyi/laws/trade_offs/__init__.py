"""The trade-off function: what an attacker's error rates can be at best, between straight lines."""
