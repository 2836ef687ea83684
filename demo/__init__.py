"""The demonstration: real services without Docker, real input, and what is damaged in it."""
