"""The one route from data to a decision; no door composes it again.

In reading order: `settings` (what decides the result beside the data), `annotators` (the people who
labelled, where there are several), `ensemble` (the proxies that
trained on the data, and the canaries), `probabilities` (somebody else's model in their place),
`wording` (every sentence about a decision), `neighbours` (near-duplicates and
outliers), `choice` (which rows, and the limits on exactly those),
`harm` (whether following the decision helps), `suspects` (the labels to look at, and one to
consider where there is none), `scoring` (rows that arrive later), `decision` (the noun),
`noise_check` (whether its noise rate stays within a limit), `route` (`decide`, all of that in its
order, and its public names), `audit` (what a person checks).
"""
