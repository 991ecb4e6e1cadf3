// The queue: what was handed over, the filters, and which card is looked at.
const NO_LABEL = -1;
const S = {view: [], here: 0, cards: new Map(), matching: null, drawn: null};

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
const PROXIES = {
  split: k => S.against[k] > 0 && S.against[k] < S.proxies,
  one: k => S.proxies > 0 && S.against[k] === S.proxies,
};

// Which cards the filters let through, in the order of the worklist. A card that was just answered
// stays where it is until one moves on, so that its answer can be seen and undone.
function fits(k) {
  const given = $('by-given').value, other = $('by-suggested').value, suspicion = Number($('by-suspicion').value);
  const state = $('by-state').value, proxies = $('by-proxies').value;
  if (S.drawn && !S.drawn.has(S.at[k])) return false;
  if (given !== '' && S.given[k] !== Number(given)) return false;
  if (other !== '' && S.suggested[k] !== Number(other)) return false;
  if (suspicion > 0 && S.place[k] > suspicion) return false;
  if (suspicion < 0 && S.place[k] <= -suspicion) return false;
  if (S.matching && !S.matching.has(S.at[k])) return false;
  if (proxies && !PROXIES[proxies](k)) return false;
  return !state || S.drawn !== null || STATES[state](k);
}

function filter(keep = null) {
  S.view = [];
  for (let k = 0; k < S.at.length; k++) if (fits(k)) S.view.push(k);
  const place = keep === null ? 0 : S.view.findIndex(k => k >= keep);
  S.here = Math.max(0, place === -1 ? S.view.length - 1 : place);
  show();
}

const current = () => S.view[S.here];

function go(by) {
  if (!S.view.length) return;
  S.here = Math.min(Math.max(S.here + by, 0), S.view.length - 1);
  show();
}

// The next card that I have not answered; at the end, back to the first one.
function goOn() {
  for (let step = 1; step <= S.view.length; step++) {
    const at = (S.here + step) % S.view.length;
    if (!mine(S.view[at])) { S.here = at; return show(); }
  }
  S.drawn = null;  // a sample that is answered makes room for the rest of its cell
  filter();
}

async function fetched(indices) {
  const wanted = indices.filter(k => k !== undefined && !S.cards.has(S.at[k])).map(k => S.at[k]);
  if (!wanted.length) return;
  for (const card of await ask('cards?at=' + wanted.join(','))) S.cards.set(card.at, card);
}
