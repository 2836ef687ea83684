"""The demonstration: real services without Docker, real input data, and damaged copies of it."""
