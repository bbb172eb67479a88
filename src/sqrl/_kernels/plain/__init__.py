"""The kernels in numpy: for little work, and what the compiled ones are compared with bit by bit.

Each module has the functions of its namesake in `compiled`, with the same arguments and shapes.
"""
