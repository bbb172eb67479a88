"""Trees evaluated over rows, and the questions that learning asks about rows."""
