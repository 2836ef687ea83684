"""Which clusters there are, how far their index is, and whether one can be reached as it must be."""
