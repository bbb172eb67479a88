"""What columns say of each other: found on rows to learn from, confirmed on rows held out."""
