"""Records through their own connector's stages, in a process of its own that is bounded, and kept from reaching out.

Whatever runs there has no environment, a configuration without secrets, bounded time and memory, and can make no file
longer; it is killed with its process group. Network, files, programs, signals and SQLite are refused where Python
audits them, and C libraries where ctypes loads them: that keeps a step from its effects. It is no sandbox against
native code, or against code that means harm.
"""
