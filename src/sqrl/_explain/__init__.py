"""Mispredictions explained by the rules that they break."""
