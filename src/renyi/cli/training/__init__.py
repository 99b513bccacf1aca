"""Commands that train, which need torch: a demonstration, and attacks on the release step.

Read ``train_demo``.
"""
