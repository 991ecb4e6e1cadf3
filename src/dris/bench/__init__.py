"""The paper's experiments, run on real data and set beside the paper's numbers."""
