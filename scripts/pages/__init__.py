"""What the site needs beside its pages, for ``docs/conf.py`` to load.

``maths`` draws formulas; ``written`` completes pages when they are built: with the reference of the command (``commands``) and
the numbers of the campaigns (``found``).
"""
