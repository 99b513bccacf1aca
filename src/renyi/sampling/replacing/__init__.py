"""Replace-one bounds that several samplings share: pairs and curves of two mixtures with a common part."""
