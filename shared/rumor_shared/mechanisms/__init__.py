"""One module a mechanism: its parameters and probabilities.

`table` finds it by its name, `packages` finds those of other people.
"""
