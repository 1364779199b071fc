"""From a value to a perturbed answer: chance, mechanisms, and permanent answers.

Order of reading: `randomness` (the only way a mechanism meets chance), `perturber` (what one does),
`perturb` (which answer a metric's value gets), then any of `mechanisms`; `rappor_secret` is the
rule of Google's clients.
"""
