"""What an event costs in the currency of a budget: ``price``, then ``currency``, then ``orders``, which a budget is spent at."""
