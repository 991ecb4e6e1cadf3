"""Readers and writers: user tables, images, known data sets, score files."""
