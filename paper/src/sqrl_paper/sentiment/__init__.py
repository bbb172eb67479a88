"""The text task of the paper: sentiment of financial news."""
