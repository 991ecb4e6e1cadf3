// The clearest suspects, the confusion picture, and a searchable row for every suspect.
const SUSPECT_ROWS = 12, SUSPECT_CARDS = 3;
const list = {all: D.suspects ? Array.from(unpack(D.suspects)) : [], matches: [], page: 0, cell: null};

function clearCard(i) {
  return el('article', {class: 'card clear-card'}, face(i), labels(i), el('p', {class: 'fine'}, pWrong(i)), el('p', {class: 'fine id'}, idOf(i)));
}

function suspectRow(i) {
  const other = className(P.suggested[i]), given = className(P.label[i]), held = D.details && D.details.by[i] !== undefined;
  return el('tr', {}, el('th', {scope: 'row', class: 'id'}, idOf(i)), el('td', {}, given), el('td', {}, other === null || other === given ? '–' : other), el('td', {}, D.calibrated ? chance(P.p_wrong[i]) : ''),
    el('td', {}, held ? el('button', {type: 'button', class: 'plain', 'aria-label': `show ${idOf(i)}`, on: {click: () => showSuspects([i])}}, 'show') : null));
}

function showSuspects(some) {
  $('suspect-cards').replaceChildren(...some.filter(i => D.details && D.details.by[i] !== undefined).slice(0, SUSPECT_CARDS).map(clearCard));
}

function findSuspects() {
  const words = $('suspect-search').value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  list.matches = list.all.filter(i => {
    if (list.cell && (P.label[i] !== list.cell[0] || P.suggested[i] !== list.cell[1])) return false;
    if (!words.length) return true;
    const held = D.details && D.details.kind === 'rows' && D.details.by[i];
    const text = [idOf(i), className(P.label[i]), className(P.suggested[i]) ?? '', ...(held || [])].join('\n').toLowerCase();
    return words.every(word => text.includes(word));
  });
  list.page = 0;
  const where = list.cell ? ` with given label ${className(list.cell[0])} and suggested label ${className(list.cell[1])}` : '';
  $('suspect-status').textContent = `${plural(list.matches.length, 'suspect')}${where}${words.length ? ' found' : ''}, most certain first.`;
  showSuspects(list.cell || words.length ? list.matches : []);  // the clearest of all are shown above
  turnSuspects(0);
}

function turnSuspects(by) {
  const pages = Math.max(1, Math.ceil(list.matches.length / SUSPECT_ROWS));
  list.page = Math.min(Math.max(list.page + by, 0), pages - 1);
  const from = list.page * SUSPECT_ROWS;
  $('suspect-table').tBodies[0].replaceChildren(...list.matches.slice(from, from + SUSPECT_ROWS).map(suspectRow));
  $('suspect-pager').hidden = pages < 2;
  $('suspect-at').textContent = `${number(list.page + 1)} of ${number(pages)}`;
  $('suspect-back').disabled = list.page === 0;
  $('suspect-on').disabled = list.page === pages - 1;
}

function drawConfusions() {
  $('heat').replaceChildren(D.confusion.length ? heatMap({classes: D.classes, cells: D.confusion, chosen: list.cell, picked: (given, other) => {
    const same = list.cell && list.cell[0] === given && list.cell[1] === other;
    list.cell = same ? null : [given, other];
    drawConfusions(); findSuspects();
    $('heat').querySelector('[aria-pressed=true]')?.focus();
  }}) : el('p', {class: 'empty'}, 'No suspect has a suggested label.'));
}

function startSuspects() {
  if ($('clearest')) $('clearest').replaceChildren(...D.clearest.map(clearCard));
  if (!$('confusions')) return;
  $('suspect-search').addEventListener('input', findSuspects);
  $('suspect-clear').addEventListener('click', () => { list.cell = null; $('suspect-search').value = ''; drawConfusions(); findSuspects(); });
  $('suspect-back').addEventListener('click', () => turnSuspects(-1));
  $('suspect-on').addEventListener('click', () => turnSuspects(1));
  drawConfusions(); findSuspects();
}
