"""One file per verb: parses options, calls a workflow, prints. The only room that knows click."""
