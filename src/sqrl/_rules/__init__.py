"""What is known: rules and sets of rules, schemas, the columns they need, and their files."""
