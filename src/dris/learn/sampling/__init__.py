"""What an epoch of a target trains on.

`plans` says how likely each example is drawn, and feeds a target a fixed subset, or draws that
change as it learns.
"""
