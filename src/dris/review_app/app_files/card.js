// One card, the answers to it, and what follows from them.
const ANSWER_WORDS = {right: 'kept as it is', wrong: 'corrected', unsure: 'unsure', disputed: 'people disagree'};

function tell(text, bad = false) {
  $('told').textContent = text;
  $('told').classList.toggle('bad', bad);
}
const failed = error => tell(error.message, true);

let drawing = 0;
async function show() {
  const turn = ++drawing, k = current(), tiles = S.grid ? S.view.slice(S.here, S.here + TILES) : [k];
  $('other-form').hidden = true;
  const upTo = S.grid ? `–${number(S.here + tiles.length)}` : '';
  $('where').textContent = S.view.length ? `${number(S.here + 1)}${upTo} of ${number(S.view.length)}` : 'nothing here';
  $('back').disabled = S.here === 0;
  $('on').disabled = S.here + tiles.length >= S.view.length;
  $('grid').setAttribute('aria-pressed', String(S.grid));
  $('similar-details').hidden = S.grid || k === undefined;
  if (k === undefined) {
    $('card').className = '';
    $('card').replaceChildren(el('p', {class: 'empty'}, 'No card passes these filters. Clear them, or finish.'));
    $('answers').replaceChildren();
    return;
  }
  try { await fetched(tiles); } catch (error) { return failed(error); }
  if (turn !== drawing) return;  // another one is asked for meanwhile
  $('card').className = S.grid ? 'grid' : '';
  if (S.grid) { S.picked = new Set([...S.picked].filter(one => tiles.includes(one))); drawGrid(tiles); }
  else { drawCard(k); drawAnswers(k); if (S.near || $('similar-details').open) drawSimilar(k); }
  const next = S.view.slice(S.here + tiles.length, S.here + tiles.length + 12);
  fetched(next).catch(() => {});
  if (S.pictured) for (const one of next.slice(0, 3)) new Image().src = picture(S.at[one], 320);
}

const picture = (at, side) => `picture/${at}/${side}`;
const answerName = ([kind, label]) => kind === 'wrong' && label !== NO_LABEL ? className(label) : ANSWER_WORDS[kind];

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
        el('div', {}, el('dt', {}, 'Given label'), el('dd', {class: 'given'}, given)),
        el('div', {}, el('dt', {}, 'Suggested label'), el('dd', {class: 'rather'}, other || 'none'))),
      evidence(k, held),
      el('p', {class: 'fine', id: 'nearest'}),
      el('p', {class: 'fine id'}, held.id),
      own ? el('p', {class: 'answered ' + own[0]}, 'Your answer: ' + answerName(own)) :
        state ? el('p', {class: 'answered'}, 'Somebody has answered this one.') : null));
  $('card').setAttribute('aria-label', `${held.id}: given label ${given}${other ? `, suggested ${other}` : ''}`);
}

// A probability, never as certain as rounding makes it.
// As the report has it: no model is surer than 99 %.
const chance = p => p < 0.01 ? '<\u00a01\u00a0%' : `${Math.round(100 * Math.min(p, .99))}\u00a0%`;

// P(wrong) and the likeliest classes. Some cards come without, or the random sample would stand out.
function evidence(k, held) {
  const p = S.pWrong[k];
  if (S.pWrong.every(one => one === null)) return null;
  if (p === null) return el('p', {class: 'fine evidence'}, 'Judge this one by yourself: some cards come without the models’ view.');
  return el('div', {class: 'evidence'},
    el('p', {}, 'P(wrong) ', el('b', {class: 'p-wrong'}, chance(p))),
    ...held.likely.map(([c, value]) => el('label', {class: 'chance'}, el('span', {}, className(c)), el('meter', {min: 0, max: 1, value}), el('span', {}, chance(value)))));
}

// An answer's button; its key stands on it.
const button = (does, name, kind = '', on = true) => el('button', {type: 'button', class: kind, 'data-does': does, disabled: !on, 'aria-keyshortcuts': keyOf(does), on: {click: HANDLERS[does]}},
  el('span', {class: 'answer-name'}, name), el('kbd', {'aria-hidden': 'true'}, keyOf(does)));

function drawAnswers(k) {
  const given = className(S.given[k]), other = className(S.suggested[k]);
  $('answers').replaceChildren(
    button('wrong', `It is ${other || '…'}`, 'primary', other !== ''),
    button('right', `Keep ${given}`), button('other', 'Other…'), button('unsure', 'Unsure'),
    button('undo', 'Undo', 'plain', S.summary.undo > 0));
}

// -- many at once ----------------------------------------------------------------------------------

function drawGrid(tiles) {
  $('card').setAttribute('aria-label', `${tiles.length} labels; select those that are alike`);
  $('card').replaceChildren(...tiles.map(k => {
    const held = S.cards.get(S.at[k]), p = S.pWrong[k], own = mine(k);
    return el('button', {type: 'button', class: 'tile', 'data-k': k, 'aria-pressed': String(S.picked.has(k)), on: {click: () => pick(k)}},
      S.pictured ? el('img', {src: picture(S.at[k], 96), alt: held.id, loading: 'lazy'}) : el('span', {class: 'tile-text'}, held.fields.map(([, value]) => value).join(' · ')),
      el('span', {class: 'tile-labels'}, className(S.given[k]), ' → ', el('b', {}, className(S.suggested[k]) || '?')),
      el('span', {class: 'fine'}, own ? answerName(own) : p === null ? '\u00a0' : `P(wrong) ${chance(p)}`));
  }));
  drawGridAnswers();
}

function pick(k) {
  if (!S.picked.delete(k)) S.picked.add(k);
  $('card').querySelector(`[data-k="${k}"]`).setAttribute('aria-pressed', String(S.picked.has(k)));
  drawGridAnswers();
}

function drawGridAnswers() {
  const n = S.picked.size, these = n ? `these ${number(n)}` : 'the selected';
  $('answers').replaceChildren(
    button('wrong', `Accept ${these}`, 'primary', n > 0), button('right', `Keep ${these}`, '', n > 0), button('unsure', 'Unsure', '', n > 0),
    button('every', n ? 'Select none' : 'Select all'), button('undo', 'Undo', 'plain', S.summary.undo > 0));
}

function pickEvery() {
  if (!S.grid) return;
  S.picked = new Set(S.picked.size ? [] : S.view.slice(S.here, S.here + TILES));
  show();
}

function toggleGrid() {
  if (!S.brief) return;
  S.grid = !S.grid;
  S.picked.clear();
  filter(current());
}

// -- answers ---------------------------------------------------------------------------------------

// Give each of these cards an answer; for `wrong`, its suggested label unless another is named.
async function answer(kind, label = null) {
  const cards = (S.grid ? [...S.picked] : [current()]).filter(k => k !== undefined);
  const given = kind !== 'wrong' ? cards : cards.filter(k => label !== null || S.suggested[k] !== NO_LABEL);
  if (!given.length) return;
  const labels = given.map(k => kind === 'wrong' ? label ?? S.suggested[k] : NO_LABEL);
  if (labels[0] === S.given[given[0]]) { kind = 'right'; labels[0] = NO_LABEL; }  // typed the label that it has
  const before = given.map(k => S.answers[k]);
  given.forEach((k, i) => { S.answers[k] = [[kind, labels[i]], before[i] ? before[i][1] : kind]; });
  S.picked.clear();
  if (S.grid) filter(current()); else goOn();
  try {
    update(await write('answer', {at: given.map(k => S.at[k]), answer: kind, label: labels}));
    const name = given.length > 1 ? plural(given.length, 'label') : S.cards.get(S.at[given[0]])?.id ?? '';
    tell(`${name}: ${given.length > 1 ? ANSWER_WORDS[kind] : answerName([kind, labels[0]])}. Saved.`);
  } catch (error) {
    given.forEach((k, i) => { S.answers[k] = before[i]; });
    filter(given[0]);
    failed(error);
  }
}

async function undo() {
  try {
    const {reopened, answers, summary} = await write('undo', {});
    if (!reopened.length) return tell('Nothing of yours to undo.');
    S.answers = answers;
    update(summary);
    filter(S.at.indexOf(reopened[0]));
    tell(reopened.length > 1 ? `${number(reopened.length)} labels are open again.` : 'Taken back.');
  } catch (error) { failed(error); }
}

// -- another class, by typing ----------------------------------------------------------------------

let matches = [], marked = 0;

function openOther() {
  if (current() === undefined || S.grid) return;
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
    if (S.at[current()] !== at || !$('nearest')) return;  // that card is not drawn (any more)
    const counts = new Map();
    for (const one of near) counts.set(one.given, (counts.get(one.given) || 0) + 1);
    $('nearest').textContent = near.length ? `The ${near.length} nearest: ${[...counts].map(([name, n]) => `${n} labelled ${name}`).join(', ')}` : '';
    $('similar').replaceChildren(...near.map(one => el('article', {class: 'near'},
      S.pictured ? pictureFace({src: picture(one.at, 96), large: picture(one.at, 1280), alt: `example ${one.id}, labelled ${one.given}`}) : rowFace(one.fields),
      el('p', {class: 'near-label'}, el('b', {}, one.given), one.given === className(S.given[k]) ? '' : el('span', {class: 'quiet'}, ' (another label)')),
      el('p', {class: 'fine'}, one.distance === 0 ? 'an exact copy' : `distance ${one.distance}`, ' · ', one.id))));
    if (!near.length) $('similar').replaceChildren(el('p', {class: 'fine'}, 'There are no others.'));
  } catch (error) { failed(error); }
  $('similar').removeAttribute('aria-busy');
}

// A limit that moved with each answer would tell which cards are the sample's.
function limitWords(limit, sample) {
  if (!sample) return 'No random sample was drawn, so nothing is proven about the labels that nobody looks at.';
  if (!limit) return `${number(sample)} random labels are mixed into the queue. Once all of them are answered, an exact limit on the labels that nobody has settled stands here.`;
  const open = limit.sample - limit.checked;
  if (open && limit.most === limit.unsettled) return `Nothing is proven yet about the labels that nobody has settled: ${number(open)} of the ${number(limit.sample)} random ones are open.`;
  return `At most ${number(limit.most)} of the ${number(limit.unsettled)} labels that nobody has settled are wrong (${share(limit.share)}), with ${share(limit.confidence)} confidence. Of ${number(limit.sample)} drawn at random, ${number(limit.wrong)} were not right${open ? ` and ${number(open)} are open, which count as wrong` : ''}.`;
}

// -- counts, limit, people -------------------------------------------------------------------------

function update(summary) {
  if (S.summary && summary.version < S.summary.version) return;  // an older answer came late
  S.summary = summary;
  const {left, cards} = summary;
  $('left').textContent = left ? `${number(left)} of ${number(cards)} left` : `all ${number(cards)} answered`;
  $('limit').textContent = limitWords(summary.limit, summary.sample);
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
  $('heat').replaceChildren(S.cells.length ? heatMap({classes: S.classes, cells: S.cells, picked: pickCell, chosen: S.cell}) : el('p', {class: 'fine'}, 'There are no suspects.'));
}

async function pickCell(given, other) {
  const same = S.cell && S.cell[0] === given && S.cell[1] === other;
  S.cell = same ? null : [given, other];
  S.only = S.members = null;
  $('by-given').value = $('by-suggested').value = '';
  drawHeat();
  await drawCell();
  S.only = S.members;
  filter();
}

async function drawCell() {
  $('cell').hidden = !S.cell;
  if (!S.cell) return;
  const [given, other] = S.cell;
  let now;
  try { now = await ask(`check?cell=${given},${other}`); } catch (error) { return failed(error); }
  if (!S.cell || S.cell[0] !== given || S.cell[1] !== other) return;
  S.members = new Set(now.members);
  const parts = [el('p', {}, `${number(now.size)} labelled ${className(given)} that should probably be ${className(other)}.`)];
  if (!now.open) parts.push(el('p', {class: 'fine'}, 'All of them are answered.'));
  else if (now.sample === now.size) parts.push(el('p', {class: 'fine'}, `${number(now.checked)} of ${number(now.size)} checked. So few are checked one by one.`));
  else if (now.checked < now.sample) {
    parts.push(el('p', {class: 'fine'}, `${number(now.checked)} of ${number(now.sample)} checked. These ${number(now.sample)} were drawn at random; after them the rest can be accepted at once.`),
      el('button', {type: 'button', id: 'cell-check', on: {click: () => { S.only = new Set(now.drawn); filter(); $('card').focus(); }}}, `Check these ${number(now.sample)}`));
  } else {
    parts.push(el('p', {class: 'fine'}, `${number(now.other)} of the ${number(now.sample)} checked should be something else. Accepting the other ${number(now.open)} makes at most ${number(now.most)} of them wrong (${share(now.share)}), with ${share(now.confidence)} confidence.`),
      el('button', {type: 'button', id: 'cell-accept', class: 'primary', on: {click: acceptCell}}, `Accept ${className(other)} for ${number(now.open)}`));
  }
  $('cell').replaceChildren(...parts);
}

async function acceptCell() {
  const other = S.cell[1];
  try {
    const {accepted, answers, summary} = await write('accept', {cell: S.cell});
    S.answers = answers;
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
        el('p', {}, limitWords(done.limit, done.limit.sample)),
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
