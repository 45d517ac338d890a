"""The text of a log to the causes of what it shows. Signatures are data, in matrices/failures.yaml."""
