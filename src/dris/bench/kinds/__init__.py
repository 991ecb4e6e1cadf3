"""What a cell measures: one module per kind, each a function from a group of cells to findings."""
