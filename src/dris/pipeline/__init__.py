"""The one route from data to a decision; no door composes it again.

In reading order: `settings` (what decides the result beside the data), `ensemble` (the proxies that
trained on the data, and the canaries), `probabilities` (somebody else's model in their place),
`wording` (every sentence about a decision), `choice` (which rows, and the limits on exactly those),
`harm` (whether following it helps), `lists` (suspects, near-duplicates, annotators), `scoring`
(rows that arrive later), `decision` (the noun), `noise_check` (whether its noise rate stays within
a limit), `route` (`decide`, all of that in its order, and the public verbs), `audit` (what a person
checks).
"""
