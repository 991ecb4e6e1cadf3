"""The one route from data to a decision; no door composes it again.

In reading order: `settings` (what decides the result beside the data), `scored` (data, proxies and
canaries), `predicted` (somebody else's probabilities in their place), `suspects` (what looks wrong,
one suspicion for every door), `wording` (every sentence about a decision), `choice` (which rows,
and the limits on exactly those), `harm` (whether following the advice helps), `unlabelled` (a label
to consider where there is none), `decision` (the noun), `by_scores` (what a rule makes of the
scores), `harm_fallback` (everything is kept where models lose by it), `route` (`decide`: all of
that in its order), `verbs` (its public names), `score_columns` and `issues` (every example and the
suspects as tables), `audit` and `answers` (what a person checks), `corrections` (what a person
corrects).
"""
