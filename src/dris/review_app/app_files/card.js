// One card, the answers to it, and what follows from them.
const ANSWER_WORDS = {right: 'kept as it is', wrong: 'corrected', unsure: 'unsure', disputed: 'people disagree'};

function tell(text, bad = false) {
  $('told').textContent = text;
  $('told').classList.toggle('bad', bad);
}
const failed = error => tell(error.message, true);

async function show() {
  const k = current();
  $('other-form').hidden = true;
  $('where').textContent = S.view.length ? `${number(S.here + 1)} of ${number(S.view.length)}` : 'nothing here';
  $('back').disabled = S.here === 0;
  $('on').disabled = S.here >= S.view.length - 1;
  if (k === undefined) {
    $('card').replaceChildren(el('p', {class: 'empty'}, S.drawn ? 'Every one of the sample is answered.' : 'No card passes these filters. Clear them, or finish.'));
    $('answers').replaceChildren();
    $('similar').replaceChildren();
    return;
  }
  try { await fetched([k]); } catch (error) { return failed(error); }
  if (current() !== k) return;
  drawCard(k);
  drawAnswers(k);
  if ($('similar-details').open) drawSimilar(k);
  fetched(S.view.slice(S.here + 1, S.here + 13)).catch(() => {});
  if (S.pictured) for (const next of S.view.slice(S.here + 1, S.here + 4)) new Image().src = picture(S.at[next], 320);
}

const picture = (at, side) => `picture/${at}/${side}`;

function drawCard(k) {
  const held = S.cards.get(S.at[k]), given = className(S.given[k]), other = className(S.suggested[k]);
  const parts = [];
  if (S.pictured) parts.push(pictureFace({src: picture(S.at[k], 320), large: picture(S.at[k], 1280), alt: `example ${held.id}, labelled ${given}`}));
  if (held.fields.length) parts.push(rowFace(held.fields));
  const state = everybody(k), own = mine(k);
  $('card').replaceChildren(
    el('div', {class: 'contents' + (S.pictured ? ' pictured' : '')}, ...parts),
    el('div', {class: 'question'},
      el('dl', {class: 'labels'},
        el('div', {}, el('dt', {}, 'The label says'), el('dd', {class: 'given'}, given)),
        el('div', {}, el('dt', {}, 'Or rather'), el('dd', {class: 'rather'}, other || 'nobody knows'))),
      el('p', {class: 'fine id'}, held.id),
      own ? el('p', {class: 'answered ' + own[0]}, 'Your answer: ' + (own[0] === 'wrong' && own[1] !== NO_LABEL ? className(own[1]) : ANSWER_WORDS[own[0]])) :
        state ? el('p', {class: 'answered'}, 'Somebody has answered this one.') : null));
  $('card').setAttribute('aria-label', `${held.id}: the label says ${given}${other ? `, or rather ${other}` : ''}`);
}

function drawAnswers(k) {
  const given = className(S.given[k]), other = className(S.suggested[k]);
  const button = (does, name, kind, on = true) => el('button', {type: 'button', class: kind, 'data-does': does, disabled: !on, 'aria-keyshortcuts': keyOf(does), on: {click: HANDLERS[does]}},
    el('span', {class: 'answer-name'}, name), el('kbd', {'aria-hidden': 'true'}, keyOf(does)));
  $('answers').replaceChildren(
    button('wrong', `It is ${other || '…'}`, 'primary', other !== ''),
    button('right', `Keep ${given}`, 'keep'),
    button('other', 'Other…', ''),
    button('unsure', 'Unsure', ''),
    button('undo', 'Undo', 'plain', S.summary.undo > 0));
}

function acceptIt() {
  const k = current();
  if (k !== undefined && S.suggested[k] !== NO_LABEL) answer('wrong', S.suggested[k]);
}

async function answer(kind, label = NO_LABEL) {
  const k = current();
  if (k === undefined) return;
  if (kind === 'wrong' && label === S.given[k]) [kind, label] = ['right', NO_LABEL];
  const before = S.answers[k];
  S.answers[k] = [[kind, label], before ? before[1] : kind];
  goOn();
  try {
    update(await write('answer', {at: S.at[k], answer: kind, label}));
    const name = S.cards.get(S.at[k])?.id ?? '';
    tell(`${name}: ${kind === 'wrong' && label !== NO_LABEL ? className(label) : ANSWER_WORDS[kind]}. Saved.`);
  } catch (error) {
    S.answers[k] = before;
    filter(k);
    failed(error);
  }
}

async function undo() {
  try {
    const {reopened, answers, summary} = await write('undo', {});
    if (!reopened.length) return tell('Nothing of yours to undo.');
    S.answers = answers;
    update(summary);
    const back = S.at.indexOf(reopened[0]);
    filter(back);
    tell(reopened.length > 1 ? `${number(reopened.length)} labels are open again.` : 'Taken back.');
  } catch (error) { failed(error); }
}

// -- another class, by typing ----------------------------------------------------------------------

let matches = [], marked = 0;

function openOther() {
  if (current() === undefined) return;
  $('other-form').hidden = false;
  $('other').value = '';
  listOthers();
  $('other').focus();
}

function listOthers() {
  const typed = $('other').value.trim().toLocaleLowerCase();
  const all = S.classes.map((name, c) => [c, name.toLocaleLowerCase()]);
  const begins = all.filter(([, name]) => name.startsWith(typed)), holds = all.filter(([, name]) => !name.startsWith(typed) && name.includes(typed));
  matches = [...begins, ...holds].map(([c]) => c).slice(0, 12);
  marked = 0;
  $('others').replaceChildren(...matches.map((c, i) => el('li', {role: 'option', id: 'other-' + i, 'aria-selected': String(i === marked), on: {click: () => pickOther(i)}}, S.classes[c])));
  markOther(0);
}

function markOther(by) {
  marked = Math.min(Math.max(marked + by, 0), Math.max(matches.length - 1, 0));
  [...$('others').children].forEach((item, i) => item.setAttribute('aria-selected', String(i === marked)));
  if (matches.length) $('other').setAttribute('aria-activedescendant', 'other-' + marked);
  else $('other').removeAttribute('aria-activedescendant');
}

function pickOther(i) {
  if (matches[i] === undefined) return tell('No class begins like that.', true);
  $('other-form').hidden = true;
  $('card').focus();
  answer('wrong', matches[i]);
}

// -- similar examples ------------------------------------------------------------------------------

async function drawSimilar(k) {
  if (k === undefined) return;
  const at = S.at[k];
  $('similar').setAttribute('aria-busy', 'true');
  try {
    const near = await ask('similar?at=' + at);
    if (S.at[current()] !== at) return;
    $('similar').replaceChildren(...near.map(one => el('article', {class: 'near'},
      S.pictured ? pictureFace({src: picture(one.at, 96), large: picture(one.at, 1280), alt: `example ${one.id}, labelled ${one.given}`}) : rowFace(one.fields),
      el('p', {class: 'near-label'}, el('b', {}, one.given), one.given === className(S.given[k]) ? '' : el('span', {class: 'quiet'}, ' (another label)')),
      el('p', {class: 'fine'}, one.distance === 0 ? 'an exact copy' : `distance ${one.distance}`, ' · ', one.id))));
    if (!near.length) $('similar').replaceChildren(el('p', {class: 'fine'}, 'There are no others.'));
  } catch (error) { failed(error); }
  $('similar').removeAttribute('aria-busy');
}

// -- counts, limit, people -------------------------------------------------------------------------

function update(summary) {
  if (S.summary && summary.version < S.summary.version) return;  // an older answer came late
  S.summary = summary;
  const {left, cards, limit} = summary;
  $('left').textContent = left ? `${number(left)} of ${number(cards)} left` : `all ${number(cards)} answered`;
  if (limit.sample) $('left').textContent += limit.checked < limit.sample
    ? ` · would prove: rest at most ${share(limit.hopedShare)} wrong` : ` · rest at most ${share(limit.share)} wrong`;
  const sure = `with ${share(limit.confidence)} confidence`;
  $('limit').textContent = limit.sample === 0
    ? 'No random sample was drawn, so nothing is proven about the labels that nobody looks at.'
    : limit.checked < limit.sample
      ? `${number(limit.checked)} of ${number(limit.sample)} random labels that are mixed into the queue are answered. If the others turn out right, at most ${number(limit.hoped)} of the ${number(limit.unsettled)} labels that nobody has settled will be wrong (${share(limit.hopedShare)}), ${sure}; as it stands, with those still open counted as wrong, at most ${number(limit.most)} (${share(limit.share)}).`
      : `At most ${number(limit.most)} of the ${number(limit.unsettled)} labels that nobody has settled are wrong (${share(limit.share)}), ${sure}, whatever made them wrong: ${number(limit.wrong)} of the ${number(limit.sample)} drawn at random were not right. Every suspect that you settle lowers it.`;
  const names = Object.entries(summary.people);
  $('people').replaceChildren(
    names.length ? el('ul', {class: 'plain-list'}, ...names.map(([name, n]) => el('li', {}, el('b', {}, name), ` ${plural(n, 'answer')}`))) : el('p', {class: 'fine'}, 'Nobody has answered yet.'),
    ...summary.agreements.map(a => el('p', {class: 'fine agreement'}, a.both
      ? `${a.first} and ${a.second} both answered ${number(a.both)} and agree on ${number(a.same)} (${share(a.same / a.both)}${a.kappa === null ? '' : `, kappa ${a.kappa.toFixed(2)}`}).`
      : `${a.first} and ${a.second} have answered none in common.`)));
  const u = $('answers').querySelector('[data-does=undo]');
  if (u) u.disabled = summary.undo === 0;
  if (S.cell) drawCell();
}

// -- a cell of the confusion matrix ----------------------------------------------------------------

function drawHeat() {
  $('heat').replaceChildren(S.cells.length ? heatMap({classes: S.classes, cells: S.cells, picked: pickCell, chosen: S.cell}) : el('p', {class: 'fine'}, 'No label looks wrong.'));
}

function pickCell(given, other) {
  const same = S.cell && S.cell[0] === given && S.cell[1] === other;
  S.cell = same ? null : [given, other];
  S.drawn = null;
  $('by-given').value = same ? '' : String(given);
  $('by-suggested').value = same ? '' : String(other);
  drawHeat(); drawCell(); filter();
}

async function drawCell() {
  $('cell').hidden = !S.cell;
  if (!S.cell) return;
  const [given, other] = S.cell;
  let now;
  try { now = await ask(`check?cell=${given},${other}`); } catch (error) { return failed(error); }
  if (!S.cell || S.cell[0] !== given || S.cell[1] !== other) return;
  const words = `${number(now.size)} labelled ${className(given)} that should probably be ${className(other)}`;
  const parts = [el('p', {}, words + '.')];
  if (now.checked < now.sample) {
    parts.push(el('p', {class: 'fine'}, `Check ${now.sample === now.size ? `all ${number(now.size)}` : `${now.sample} of them drawn at random`}; then the rest can be accepted at once. ${number(now.checked)} checked.`),
      el('button', {type: 'button', id: 'cell-check', on: {click: () => { S.drawn = new Set(now.drawn); filter(); $('card').focus(); }}}, `Check the ${plural(now.sample - now.checked, 'one', 'ones')} still open`));
  } else if (now.open) {
    parts.push(el('p', {class: 'fine'}, `${number(now.other)} of the ${number(now.sample)} checked should be something else. Accepting the other ${number(now.open)} would make at most ${number(now.most)} of them (${share(now.share)}) wrong, with ${share(now.confidence)} confidence.`),
      el('button', {type: 'button', id: 'cell-accept', class: 'primary', on: {click: acceptCell}}, `Accept ${className(other)} for ${number(now.open)}`));
  } else parts.push(el('p', {class: 'fine'}, 'All of them are answered.'));
  $('cell').replaceChildren(...parts);
}

async function acceptCell() {
  const [given, other] = S.cell;
  try {
    const {accepted, answers, summary} = await write('accept', {given, suggested: other});
    S.answers = answers; S.drawn = null;
    update(summary); filter();
    tell(`${plural(accepted, 'label')} accepted as ${className(other)}. ${keyOf('undo')} takes it back.`);
  } catch (error) { failed(error); }
}

// -- finish ----------------------------------------------------------------------------------------

function openFinish() {
  const {counts, left} = S.summary, box = $('finish-box');
  const again = el('input', {type: 'checkbox', id: 'again'});
  const outcome = el('div', {id: 'finished', role: 'status', 'aria-live': 'polite'});
  const button = el('button', {type: 'button', class: 'primary', id: 'write', on: {click: async () => {
    button.disabled = true;
    outcome.replaceChildren(el('p', {class: 'fine'}, again.checked ? 'Writing, then deciding again; this can take minutes.' : 'Writing.'));
    try {
      const done = await write('finish', {again: again.checked});
      outcome.replaceChildren(
        el('p', {}, 'Wrote ', el('code', {}, done.file), `: ${plural(done.corrected, 'label')} corrected, ${number(done.trusted)} trusted, ${number(done.dropped)} dropped (wrong, and no other label known), ${number(done.unsure)} left as they were.`),
        ...(done.again ?? []).map(line => el('p', {class: 'fine'}, line)));
    } catch (error) { outcome.replaceChildren(el('p', {class: 'bad'}, error.message)); }
    button.disabled = false;
  }}}, 'Write the corrected data');
  box.replaceChildren(
    el('h2', {id: 'finish-title'}, 'Finish'),
    el('p', {}, `${plural(counts.right + counts.wrong + counts.unsure + counts.disputed, 'label')} answered: ${number(counts.wrong)} wrong, ${number(counts.right)} right, ${number(counts.unsure)} unsure${counts.disputed ? `, ${number(counts.disputed)} disputed (left as they are)` : ''}. ${number(left)} of the queue are open; you can come back at any time.`),
    el('p', {}, 'The corrected data is a new file. The original is never touched.'),
    el('label', {class: 'check'}, again, ' decide again afterwards, with the answered labels trusted'),
    outcome,
    el('p', {class: 'fine'}, 'For another tool: ', el('a', {href: 'export/csv'}, 'CSV'), ' · ', el('a', {href: 'export/label-studio'}, 'Label Studio'), ' · ', el('a', {href: 'export/argilla'}, 'Argilla')),
    el('div', {class: 'finish-bar'}, button, el('button', {type: 'button', on: {click: () => box.close()}}, 'Back to the queue')));
  box.showModal();
}
