// The queue: what was handed over, the filters, and which card is looked at.
const NO_LABEL = -1;
const S = {view: [], here: 0, cards: new Map(), matching: null, only: null, members: null, grid: false, picked: new Set()};
const TILES = 24;

async function ask(path, sent) {
  const url = new URL(path, location.href);
  url.searchParams.set('who', S.who || '');
  const how = sent === undefined ? {} : {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(sent)};
  let answer;
  try { answer = await fetch(url, how); } catch { throw new Error('dris review does not answer; is it still running? No answer is lost.'); }
  if (!answer.ok) {
    const text = await answer.text();
    let why = text.trim();
    try { why = JSON.parse(text).error; } catch { /* a plain refusal */ }
    throw new Error(why);
  }
  return answer.json();
}

// What is written goes one after the other: an undo never overtakes the answer that it takes back.
let writing = Promise.resolve();
function write(path, sent) {
  const done = writing.then(() => ask(path, sent));
  writing = done.catch(() => {});
  return done;
}

const className = c => c === NO_LABEL ? '' : S.classes[c];
const mine = k => S.answers[k] && S.answers[k][0];
const everybody = k => S.answers[k] ? S.answers[k][1] : '';

const STATES = {
  open: k => !mine(k), mine, nobody: k => !S.answers[k],
  disputed: k => everybody(k) === 'disputed',
  unsure: k => everybody(k) === 'unsure',
};
// Cards that are shown without P(wrong) pass no bound on it.
const CERTAIN = {'': () => true, above: p => p !== null && p > 0.9, below: p => p !== null && p <= 0.9};

// Which cards the filters let through, in the order of the worklist. A card that was just answered
// stays where it is until one moves on, so that its answer can be seen and undone.
function fits(k) {
  const given = $('by-given').value, other = $('by-suggested').value, state = $('by-state').value;
  if (S.only && !S.only.has(S.at[k])) return false;
  if (given !== '' && S.given[k] !== Number(given)) return false;
  if (other !== '' && S.suggested[k] !== Number(other)) return false;
  if (!CERTAIN[$('by-p').value](S.pWrong[k])) return false;
  if (S.matching && !S.matching.has(S.at[k])) return false;
  return !state || S.only !== null || STATES[state](k);
}

function filter(keep = null) {
  S.view = [];
  for (let k = 0; k < S.at.length; k++) if (fits(k)) S.view.push(k);
  const place = S.view.findIndex(k => keep === null ? !mine(k) : k >= keep);
  S.here = Math.max(0, place === -1 && keep !== null ? S.view.length - 1 : place);
  if (S.grid) S.here -= S.here % TILES;
  show();
}

const current = () => S.view[S.here];

function go(by) {
  if (!S.view.length) return;
  const last = S.grid ? Math.floor((S.view.length - 1) / TILES) * TILES : S.view.length - 1;
  S.here = Math.min(Math.max(S.here + by * (S.grid ? TILES : 1), 0), last);
  show();
}

// The next card that I have not answered; at the end, back to the first one.
function goOn() {
  for (let step = 1; step <= S.view.length; step++) {
    const at = (S.here + step) % S.view.length;
    if (!mine(S.view[at])) { S.here = at; return show(); }
  }
  S.only = S.members;  // a sample that is answered makes room for the rest of its cell
  filter();
}

async function fetched(indices) {
  const wanted = indices.filter(k => k !== undefined && !S.cards.has(S.at[k])).map(k => S.at[k]);
  if (!wanted.length) return;
  for (const card of await ask('cards?at=' + wanted.join(','))) S.cards.set(card.at, card);
}
