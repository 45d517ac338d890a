"""Plan or files to image: the engine port and its adapters. The only room that knows docker."""
