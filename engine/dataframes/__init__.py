"""Error policies and dead letters for everybody's DataFrames."""

from engine.dataframes.deadletters import DeadLetters

__all__ = ["DeadLetters"]
