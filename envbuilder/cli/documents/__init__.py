"""The JSON documents that commands print, as types from which JSON Schemas are made."""
