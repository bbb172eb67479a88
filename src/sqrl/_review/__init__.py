"""The review page: rules, their histograms and people's decisions, on loopback or in a notebook."""
