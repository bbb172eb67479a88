"""The detection task of the paper: boxes on roads."""
