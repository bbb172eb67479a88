"""Files as parts that can be scanned: found, opened, and read as one table."""
