"""Tests of the room that compares."""
