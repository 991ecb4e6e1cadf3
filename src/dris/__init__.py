"""Choose what to train on when the labels cannot be trusted."""
