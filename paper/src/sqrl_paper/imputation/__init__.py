"""The time-series task of the paper: imputation of PhysioNet 2012."""
