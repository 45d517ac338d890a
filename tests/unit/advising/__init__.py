"""Tests of the room that advises."""
