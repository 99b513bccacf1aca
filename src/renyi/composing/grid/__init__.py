"""The method of grids: losses moved to a lattice, up and down, tilted, and composed by FFT.

Read ``grid``, the method; ``plan`` chooses and refines the lattices, ``saddle`` the tilt, ``law`` is what comes out, with its
errors. ``infinite_atoms`` takes out beforehand what is lost for certain.
"""
