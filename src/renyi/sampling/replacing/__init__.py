"""Replace-one bounds that several samplings share: pairs and curves of two mixtures with a common part.

Read ``fixed_size_pair`` (a profile, with the help of ``symmetric_pair``) and ``ternary_bound`` (a curve from three laws);
``without_replacement_bound`` is the published bound for comparison.
"""
