"""The loops that numba compiles; imported when a kernel is first called, never before."""
