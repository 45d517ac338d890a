"""Find the causes of failures in logs. Signatures are data, in `matrices/failures.yaml`."""
