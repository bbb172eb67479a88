"""How far a result may lie from the exact one, from its precision and its number of terms.

Processors add in orders of their own, with or without fused multiplications, so that sums of floats
differ in their last bits. A sum of n terms is right to n roundings of its largest partial sum.
"""

FLOAT32, FLOAT64 = 2.0**-24, 2.0**-53  # half of the gap between 1 and the next number


def rounding(n_terms, largest, unit=FLOAT32):
    """The most that a sum of so many terms, none of its parts above `largest`, is wrong by."""
    return n_terms * largest * unit
