"""The tabular task of the paper: cardiovascular disease."""
