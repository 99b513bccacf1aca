"""The local page (extra ``web``): a calculator, plots, samplers side by side, two runs compared, a ledger.

``renyi serve`` starts it. Read ``form`` (what the page asks for) and ``runs`` (the event it describes), then ``answers``, one
file for each question: they run in worker processes, which ``workers`` starts and ends, and ``working`` is. ``app`` puts pages
and answers together, with ``site``, which all pages share, and ``ledger``, those about a budget; ``gate`` decides what comes in
and what headers go out, ``statics`` lists the files that there are.
"""
