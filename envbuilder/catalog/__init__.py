"""From matrices/ to rows: loading, cross-checks, globs."""
