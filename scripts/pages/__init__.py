"""What the site needs beside its pages.

For ``docs/conf.py`` to load: ``maths`` draws formulas, and ``docstrings`` those of docstrings; ``written`` completes pages when
they are built, with the reference of the command (``commands``) and the numbers of the campaigns (``found``). Programs of their
own: ``look`` opens every page of the site in a browser, ``screenshots`` takes the pictures of the local page.
"""
