"""Plots of what a run costs (extra ``plot``): five kinds of plot, the budget of a ledger, and the figures of the papers.

Functions take an event (most also a dictionary of events by name), the delta of the guarantee in the caption, and
``ax=`` to draw into axes of your own; it returns the axes. ``save`` writes PNG or SVG. matplotlib is loaded when something is
drawn.

Read ``chart`` (what is drawn, before it is drawn) and ``drawing``; then ``profile``, one of the plots. ``figures`` holds
those of the papers; ``backend`` alone loads matplotlib.
"""

from renyi.plots.budget import budget_over_time
from renyi.plots.comparison import accountants
from renyi.plots.curve import renyi_curve
from renyi.plots.profile import privacy_profile
from renyi.plots.rates import trade_off
from renyi.plots.saving import save
from renyi.plots.steps import epsilon_by_steps

__all__ = ["accountants", "budget_over_time", "epsilon_by_steps", "privacy_profile", "renyi_curve", "save", "trade_off"]
