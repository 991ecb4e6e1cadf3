// The review queue: right, wrong or unsure, kept in this browser, exported as CSV.
const VERDICTS = [['right', 'R'], ['wrong', 'W'], ['unsure', 'U']];
const storeKey = 'dris-review-' + document.body.dataset.key;
const review = {ticks: readTicks(), shown: 0, by: 24};

function readTicks() {
  try { return JSON.parse(localStorage.getItem(storeKey)) || {}; } catch { return {}; }
}
function keepTicks() {
  try { localStorage.setItem(storeKey, JSON.stringify(review.ticks)); } catch { /* no storage: ticks live as long as the page */ }
}

function tick(q, verdict, corrected) {
  const proposed = P.suggested[D.queue[q].at];
  if (corrected === undefined) corrected = verdict === 'wrong' && proposed !== NONE && proposed !== P.label[D.queue[q].at] ? D.classes[proposed] : '';
  review.ticks[q] = [verdict, verdict === 'wrong' ? corrected : ''];
  keepTicks(); paint(q); countTicks();
}

function paint(q) {
  const box = $('q' + q), [verdict, corrected] = review.ticks[q] || ['', ''];
  if (!box) return;
  for (const input of box.querySelectorAll('input[type=radio]')) input.checked = input.value === verdict;
  box.dataset.verdict = verdict;
  const choice = box.querySelector('.corrected');
  choice.hidden = verdict !== 'wrong';
  choice.querySelector('select').value = corrected;
}

function countTicks() {
  const all = Object.values(review.ticks), n = v => all.filter(t => t[0] === v).length;
  $('review-count').textContent = `${number(all.length)} of ${number(D.queue.length)} ticked` +
    (all.length ? `: ${n('right')} right, ${n('wrong')} wrong, ${n('unsure')} unsure` : '');
  $('export').disabled = all.length === 0;
  $('review-clear').disabled = all.length === 0;
}

function item(q) {
  const {at: i, id} = D.queue[q], given = className(P.label[i]), proposed = className(P.suggested[i]);
  const choice = el('select', {'aria-label': `the right label of ${id}`, on: {change: e => tick(q, 'wrong', e.target.value)}},
    el('option', {value: ''}, 'not known'));
  D.classes.forEach((name, c) => { if (c !== P.label[i]) choice.append(el('option', {value: name}, name)); });
  return el('article', {class: 'item', id: 'q' + q, tabindex: '0', 'aria-label': `${q + 1}: ${id}, labelled ${given}`,
    on: {keydown: e => shortcut(e, q)}},
    el('span', {class: 'rank', 'aria-hidden': 'true'}, String(q + 1)), face(i),
    el('dl', {class: 'said'}, el('dt', {}, 'given'), el('dd', {}, given),
      el('dt', {}, 'proxies say'), el('dd', {class: 'proposes'}, proposed === null ? '–' : proposed === given ? 'the same' : proposed)),
    el('p', {class: 'fine id', title: id}, id),
    el('fieldset', {}, el('legend', {}, 'The given label is'), ...VERDICTS.map(([name, key]) =>
      el('label', {class: name}, el('input', {type: 'radio', name: 'v' + q, value: name, on: {change: () => tick(q, name)}}),
        el('span', {}, name, el('kbd', {'aria-hidden': 'true'}, key))))),
    el('label', {class: 'corrected', hidden: true}, 'It should be ', choice));
}

function shortcut(event, q) {
  if (event.target.tagName === 'SELECT' || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase(), verdict = VERDICTS.find(v => v[1].toLowerCase() === key);
  if (verdict) { tick(q, verdict[0]); go(q + 1); }
  else if (key === 'j') go(q + 1);
  else if (key === 'k') go(q - 1);
  else return;
  event.preventDefault();
}

function go(q) {
  if (q < 0 || q >= D.queue.length) return;
  if (q >= review.shown) more();
  $('q' + q).focus();
}

function more() {
  const to = Math.min(review.shown + review.by, D.queue.length);
  for (let q = review.shown; q < to; q++) { $('queue').append(item(q)); paint(q); }
  review.shown = to;
  $('queue-more').hidden = to === D.queue.length;
  $('queue-more').textContent = `Show ${Math.min(review.by, D.queue.length - to)} more (${number(D.queue.length - to)} left)`;
}

// Every cell is quoted. One that a spreadsheet could take for a formula, or that begins with an
// apostrophe itself, gets an apostrophe in front; the reader takes exactly one off again.
const cell = text => '"' + (/^[=+\-@'\t\r\n]/.test(text) ? "'" : '') + text.replaceAll('"', '""') + '"';
function ticksAsCsv() {
  const lines = ['id,given,proposed,verdict,corrected'];
  for (const q of Object.keys(review.ticks).map(Number).sort((a, b) => a - b)) {
    const {at: i, id} = D.queue[q], [verdict, corrected] = review.ticks[q];
    lines.push([id, className(P.label[i]), className(P.suggested[i]) ?? '', verdict, corrected].map(cell).join(','));
  }
  return lines.join('\r\n') + '\r\n';
}

function exportTicks() {
  const url = URL.createObjectURL(new Blob([ticksAsCsv()], {type: 'text/csv;charset=utf-8'}));
  const link = el('a', {href: url, download: 'review.csv'});
  document.body.append(link); link.click(); link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function startReview() {
  if (!D.queue.length) return;
  $('queue-more').addEventListener('click', more);
  $('export').addEventListener('click', exportTicks);
  $('review-clear').addEventListener('click', () => {
    if (!confirm('Clear all ticks?')) return;
    review.ticks = {}; keepTicks(); countTicks();
    for (let q = 0; q < review.shown; q++) paint(q);
  });
  more(); countTicks();
}
