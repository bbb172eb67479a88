"""The paper's tasks on real data: readers, models, training and drifts that one can copy.

Everything here may import torch; nothing below does.
"""
