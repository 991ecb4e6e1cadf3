"""The frameworks people already use: scikit-learn."""
