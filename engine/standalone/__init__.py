"""The state of a standalone worker in files of its machine, instead of topics."""
