"""What an epoch of a target trains on.

In reading order: `plans` (how likely each example is drawn), `feeds` (a fixed subset, or draws that
change as the target learns).
"""
