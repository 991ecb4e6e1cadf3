"""The one route from data to a decision; no door composes it again.

In reading order: `settings` (what decides the result beside the data), `ensemble` (the proxies that
trained on the data, and the canaries), `probabilities` (somebody else's model in their place),
`wording` (every sentence about a decision), `choice` (which rows, and the limits on exactly those),
`harm` (whether following the decision helps), `suspects` (the labels to look at, and one to
consider where there is none), `decision` (the noun), `route` (`decide`, all of that in its order,
and its public names), `audit` (what a person checks).
"""
