"""The notes "Great but Manageable Expectations" on Renyi differential privacy: routes, notions, claims and a conjecture."""
