"""From expectation and facts to findings: small pure functions in a declared table."""
