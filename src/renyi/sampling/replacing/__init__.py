"""What samplings of fixed size share: the law of replacing a record in a draw."""
