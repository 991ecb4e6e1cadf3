// Given × suggested labels with counts; picking a cell tells which. Large sets show the fullest part.
const MOST_CLASSES = 16;

function heatMap({classes, cells, picked, chosen = null}) {
  const total = new Map();
  for (const [given, other, n] of cells) for (const c of [given, other]) total.set(c, (total.get(c) || 0) + n);
  const shown = [...total.keys()].sort((a, b) => total.get(b) - total.get(a) || a - b).slice(0, MOST_CLASSES).sort((a, b) => a - b);
  const count = new Map(cells.map(([given, other, n]) => [given + ' ' + other, n]));
  const most = Math.max(1, ...cells.map(cell => cell[2]));
  const table = el('table', {class: 'heat'});
  table.append(el('thead', {}, el('tr', {}, el('td', {}), ...shown.map(c => el('th', {scope: 'col', title: classes[c]}, el('span', {}, classes[c]))))));
  const body = el('tbody');
  for (const given of shown) {
    const row = el('tr', {}, el('th', {scope: 'row', title: classes[given]}, classes[given]));
    for (const other of shown) {
      const n = count.get(given + ' ' + other) || 0;
      const deep = n ? Math.max(1, Math.round(6 * Math.sqrt(n / most))) : 0;
      const on = chosen !== null && chosen[0] === given && chosen[1] === other;
      row.append(el('td', {class: given === other ? 'same' : null}, n ? el('button', {type: 'button', class: 'deep-' + deep, 'aria-pressed': String(on),
        'aria-label': `${classes[given]} that should be ${classes[other]}: ${number(n)}`, title: `${classes[given]} → ${classes[other]}`,
        on: {click: () => picked(given, other)}}, number(n)) : null));
    }
    body.append(row);
  }
  table.append(body);
  const left = total.size - shown.length;
  return el('div', {class: 'heat-box'}, el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'given against suggested labels'}, table),
    el('p', {class: 'fine'}, 'Rows: given label. Columns: suggested label.'),
    left > 0 ? el('p', {class: 'fine'}, `The ${shown.length} classes with the most are shown; ${number(left)} more have suspects.`) : null);
}
