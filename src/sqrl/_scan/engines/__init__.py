"""Who runs a job over parts of the data: threads of this process, Ray, Spark."""
