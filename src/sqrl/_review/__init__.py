"""The review page: rules, their histograms and people's decisions, on loopback."""
