"""The exposition of Renyi differential privacy in notes, with its routes, notions, claims and a conjecture."""
