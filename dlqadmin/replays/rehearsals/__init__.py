"""Rehearsals: records run through their own connector's stages in a sandbox.

Time, memory and the number of processes are limited. The process sees Python, the engine and the plugin folders,
read-only. It has no environment, no network, no other processes, and a configuration without secrets.

The engine's own fence also refuses network, files, programs, signals and SQLite wherever Python audits them. So a step
that tried to reach out can be reported.
"""
