"""Tests of envbuilder.auditing.code."""
