"""Attacks on the real release step, and what they say about the claim: whether it is refuted, and which noise they saw.

Read ``audit``, the question and its answer; ``trials`` plays the run again and again with a canary that is there or not, on a
``subject``; ``rates`` counts an attacker's errors and compares them with the claimed trade-off curve. ``one_run`` is the other
kind: many canaries in one run, a fair coin for each, and as many guesses, which ``guessing`` judges. ``attack`` is what both
can be asked, ``document`` the frame of what they say, and ``filed`` reads it back.
"""
