"""The method of grids: losses moved to a lattice, up and down, tilted, and composed by FFT."""
