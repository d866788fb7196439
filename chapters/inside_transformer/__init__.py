"""The small module that the chapters of *Inside the Transformer* share."""
