"""The mirror of one cluster's topics on another (KIP-656)."""
