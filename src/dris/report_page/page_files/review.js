// Lists of labels that a person answers right, wrong or unsure: the review queue, and a random
// sample of what is kept. Answers stay in this browser until they are exported as CSV.
const ANSWERS = ['right', 'wrong', 'unsure'];
const SHOWN_AT_ONCE = matchMedia('(max-width: 640px)').matches ? (D.details && D.details.kind === 'pictures' ? 4 : 3) : 12;

// A list named 'queue' or 'sample': `suggests` shows the proxies' label, `changed` hears of answers.
function answerList({name, items, file, heading = [], suggests, changed}) {
  const storeKey = `dris-${name}-${document.body.dataset.key}`;
  let answers = kept(), shown = 0;

  function kept() {
    try { return JSON.parse(localStorage.getItem(storeKey)) || {}; } catch { return {}; }
  }
  function keep() {
    try { localStorage.setItem(storeKey, JSON.stringify(answers)); } catch { /* no storage: answers live as long as the page */ }
  }
  const box = q => $(name + '-' + q);

  function answer(q, kind, corrected) {
    const i = items[q].at, suggested = suggests ? P.suggested[i] : NONE;
    if (corrected === undefined) corrected = suggested !== NONE && suggested !== P.label[i] ? D.classes[suggested] : '';
    answers[q] = [kind, kind === 'wrong' ? corrected : ''];
    keep(); paint(q); count();
  }

  function paint(q) {
    const [kind, corrected] = answers[q] || ['', ''];
    if (!box(q)) return;
    for (const input of box(q).querySelectorAll('input[type=radio]')) input.checked = input.value === kind;
    box(q).dataset.answer = kind;
    const choice = box(q).querySelector('.corrected');
    choice.hidden = kind !== 'wrong';
    choice.querySelector('select').value = corrected;
  }

  function count() {
    const all = Object.values(answers), n = v => all.filter(t => t[0] === v).length;
    $(name + '-count').textContent = `${number(all.length)} of ${number(items.length)} answered` +
      (all.length ? `: ${n('right')} right, ${n('wrong')} wrong, ${n('unsure')} unsure` : '');
    $(name + '-clear').disabled = all.length === 0;
    changed(all.length, all.length - n('right'));
  }

  function item(q) {
    const {at: i, id} = items[q], given = className(P.label[i]), suggested = className(P.suggested[i]);
    const choice = el('select', {'aria-label': `the right label of ${id}`, on: {change: e => answer(q, 'wrong', e.target.value)}},
      el('option', {value: ''}, 'not known'));
    D.classes.forEach((label, c) => { if (c !== P.label[i]) choice.append(el('option', {value: label}, label)); });
    const pair = el('dl', {class: 'said'}, el('dt', {}, 'given'), el('dd', {}, given));
    if (suggests) pair.append(el('dt', {}, 'suggested'), el('dd', {class: 'rather'}, suggested === null ? '–' : suggested === given ? 'the same' : suggested + pSuggested(i)));
    if (suggests && D.calibrated) pair.append(el('dt', {}, 'P(wrong)'), el('dd', {}, chance(P.p_wrong[i])));
    return el('article', {class: 'item', id: name + '-' + q, tabindex: '0', 'aria-label': `${q + 1}: ${id}, labelled ${given}`,
      on: {keydown: e => shortcut(e, q)}},
      el('span', {class: 'rank', 'aria-hidden': 'true'}, String(q + 1)), face(i), pair,
      el('p', {class: 'fine id', title: id}, id),
      el('fieldset', {}, el('legend', {}, 'The given label is'), ...ANSWERS.map(kind =>
        el('label', {class: kind}, el('input', {type: 'radio', name: `${name}-v${q}`, value: kind, on: {change: () => answer(q, kind)}}),
          el('span', {}, kind, el('kbd', {'aria-hidden': 'true'}, keyOf(kind)))))),
      el('label', {class: 'corrected', hidden: true}, 'It should be ', choice));
  }

  const handlers = q => ({
    ...Object.fromEntries(ANSWERS.map(kind => [kind, () => { answer(q, kind); go(q + 1); }])),
    next: () => go(q + 1), previous: () => go(q - 1)});

  function shortcut(event, q) {
    const chooses = event.key.startsWith('Arrow') && event.target.tagName === 'INPUT';
    if (event.target.tagName !== 'SELECT' && !chooses) handleKey(event, handlers(q));
  }

  function go(q) {
    if (q < 0 || q >= items.length) return;
    if (q >= shown) more();
    box(q).focus();
  }

  function more() {
    const to = Math.min(shown + SHOWN_AT_ONCE, items.length), left = items.length - to;
    for (let q = shown; q < to; q++) { $(name).append(item(q)); paint(q); }
    shown = to;
    $(name + '-more').hidden = !left;
    $(name + '-more').textContent = `Show ${Math.min(SHOWN_AT_ONCE, left)} more (${number(left)} left)`;
  }

  function asCsv() {
    const lines = [['id', 'given', 'suggested', 'answer', 'corrected', ...heading]];
    for (const q of Object.keys(answers).map(Number).sort((a, b) => a - b)) {
      const {at: i, id} = items[q], [kind, corrected] = answers[q];
      const suggested = suggests ? className(P.suggested[i]) ?? '' : '';
      lines.push([id, className(P.label[i]), suggested, kind, corrected, ...heading.map(() => '')]);
    }
    return lines.map(line => line.map(cell).join(',')).join('\r\n') + '\r\n';
  }

  $(name + '-more').addEventListener('click', more);
  $(name + '-export').addEventListener('click', () => download(asCsv(), file));
  $(name + '-clear').addEventListener('click', () => {
    if (!confirm('Clear all answers?')) return;
    answers = {}; keep(); count();
    for (let q = 0; q < shown; q++) paint(q);
  });
  $(name + '-keys')?.replaceChildren('Keys, with a card in focus: ', ...keyLegend(handlers(0), 'does'));
  more(); count();
}

// Every cell is quoted. One that a spreadsheet could take for a formula, or that begins with an
// apostrophe itself, gets an apostrophe in front; the reader takes exactly one off again.
const cell = text => '"' + (/^[=+\-@'\t\r\n]/.test(text) ? "'" : '') + text.replaceAll('"', '""') + '"';

function download(text, file) {
  const url = URL.createObjectURL(new Blob([text], {type: 'text/csv;charset=utf-8'}));
  const link = el('a', {href: url, download: file});
  document.body.append(link); link.click(); link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function startReview() {
  if (D.queue.length) {
    answerList({name: 'queue', items: D.queue, file: 'review.csv', suggests: true,
      changed: answered => { $('queue-export').disabled = answered === 0; }});
  }
  if (!D.sample) return;
  const {items, limits, sealed} = D.sample;
  answerList({name: 'sample', items, file: 'audit.csv', heading: [sealed], suggests: false,
    changed: (answered, wrong) => {
      const whole = answered === items.length;
      $('sample-export').disabled = !whole;
      $('sample-limit').textContent = whole
        ? `At most ${share(limits[wrong])} of the kept labels are wrong: ${number(wrong)} of ${number(answered)} checked are not right.`
        : `None wrong would prove at most ${share(limits[0])}, one at most ${share(limits[1] ?? limits[0])}.`;
    }});
}
