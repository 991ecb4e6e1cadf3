// What there is to see of an example: a picture, which a click enlarges, or every column in full.
function pictureFace({src, large = src, alt}) {
  return el('button', {type: 'button', class: 'face zoomable', 'aria-label': `enlarge ${alt}`, on: {click: () => enlarge(large, alt)}},
    el('img', {src, alt, loading: 'lazy'}));
}

const LONG = 60;  // characters past which a value gets a line of its own

// The first few columns, the others behind a click; `more` counts those that are not here at all.
function rowFace(fields, {more = 0, first = Infinity} = {}) {
  const list = some => {
    const made = el('dl', {class: 'row'});
    for (const [name, value] of some) {
      const kind = value.length > LONG ? 'long' : null;
      made.append(el('dt', {class: kind}, name || '(no name)'), el('dd', {class: kind}, value === '' ? '–' : value));
    }
    return made;
  };
  if (fields.length === first + 1) first = fields.length;  // a click for one column is no gain
  const rest = fields.slice(first), box = el('div', {class: 'face rows'}, list(fields.slice(0, first)));
  if (rest.length) {
    const fold = el('details', {}, el('summary', {}, plural(rest.length, 'more column')));
    fold.addEventListener('toggle', () => fold.append(list(rest)), {once: true});
    box.append(fold);
  }
  if (more) box.append(el('p', {class: 'fine'}, `${plural(more, 'column')} not in this file`));
  return box;
}

// One picture over the page; Escape or a click puts it away and gives the focus back.
function enlarge(src, alt) {
  const box = el('dialog', {class: 'zoom', 'aria-label': alt},
    el('img', {src, alt}), el('p', {class: 'fine'}, alt),
    el('button', {type: 'button', class: 'primary', on: {click: () => box.close()}}, 'Close'));
  box.addEventListener('click', event => { if (event.target !== box.lastChild) box.close(); });
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
}
