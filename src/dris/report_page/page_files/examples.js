// One example as a card: its picture or row, what it was given, what became of it.
const MIME = {'/': 'image/jpeg', 'i': 'image/png', 'U': 'image/webp'};

function face(i) {
  const held = D.details && D.details.by[i];
  if (!held) return el('div', {class: 'face none'}, D.details ? 'not in this file; dris review shows it' : 'nothing to show');
  if (D.details.kind === 'rows') return rowOf(D.details, held);
  const picture = pictureFace({src: `data:${MIME[held[0]]};base64,${held}`, alt: `example ${idOf(i)}, labelled ${className(P.label[i])}`});
  const beside = D.details.beside && D.details.beside.by[i];
  return beside ? el('div', {class: 'both'}, picture, rowOf(D.details.beside, beside)) : picture;
}

function rowOf(rows, held) {
  return rowFace(held.map((value, c) => [rows.columns[c], value]), {more: rows.leftOut, first: 8});
}

// Given and proposed label; they may be any text at all.
function labels(i) {
  const proposed = className(P.suggested[i]), given = className(P.label[i]);
  return el('p', {class: 'labels'}, 'given ', el('b', {}, given),
    ...(proposed !== null && proposed !== given ? [el('br'), 'suggested ', el('b', {class: 'rather'}, proposed), pSuggested(i)] : []));
}

function card(i) {
  const d = outcome(i), kind = P.flags[i] >> 2;
  return el('article', {class: 'card ' + OUTCOMES[d]}, face(i), labels(i),
    el('p', {class: 'what'}, el('span', {class: 'sign', 'aria-hidden': 'true'}, MARKS[d]), ' ' + OUTCOME_TITLES[d] + (kind ? ` (${D.kinds[kind - 1]})` : '')),
    el('p', {class: 'fine'}, kind ? '' : pWrong(i)), el('p', {class: 'fine id'}, idOf(i)), el('p', {class: 'fine'}, `rank ${meanRank(i).toFixed(2)}, variance ${variance(i).toFixed(4)}`));
}

const panel = {examples: [], page: 0, size: D.details && D.details.kind === 'rows' ? 3 : 6};

function showExamples(examples, what) {
  panel.examples = examples; panel.page = 0;
  const counts = [0, 0, 0, 0, 0];
  for (const i of examples) {
    counts[decided(i)]++;
    if (outcome(i) > 2) counts[outcome(i)]++;  // trusted or a canary, and kept or dropped too
  }
  const parts = counts.map((n, d) => n ? d === 4 ? `${plural(n, 'canary', 'canaries')} among them` : `${number(n)} ${OUTCOME_TITLES[d]}${d === 3 ? ' among them' : ''}` : '').filter(Boolean);
  $('panel-status').textContent = examples.length
    ? `${number(examples.length)} example${examples.length > 1 ? 's' : ''} ${what}: ${parts.join(', ')}.`
    : `No example ${what}.`;
  turn(0);
}

function turn(by) {
  const pages = Math.max(1, Math.ceil(panel.examples.length / panel.size));
  panel.page = Math.min(Math.max(panel.page + by, 0), pages - 1);
  const from = panel.page * panel.size;
  $('cards').replaceChildren(...panel.examples.slice(from, from + panel.size).map(card));
  $('pager').hidden = pages < 2;
  $('page-at').textContent = `${number(panel.page + 1)} of ${number(pages)}`;
  $('page-back').disabled = panel.page === 0;
  $('page-on').disabled = panel.page === pages - 1;
}

$('page-back')?.addEventListener('click', () => turn(-1));
$('page-on')?.addEventListener('click', () => turn(1));
