// What there is to see of an example: a picture, which a click enlarges, or every column in full.
function pictureFace({src, large = src, alt}) {
  return el('button', {type: 'button', class: 'face zoomable', 'aria-label': `enlarge ${alt}`, on: {click: () => enlarge(large, alt)}},
    el('img', {src, alt, loading: 'lazy'}));
}

const LONG = 60;  // characters past which a value gets a line of its own

function rowFace(fields, more = 0) {
  const list = el('dl', {class: 'row'});
  for (const [name, value] of fields) {
    const kind = value.length > LONG ? 'long' : null;
    list.append(el('dt', {class: kind}, name), el('dd', {class: kind}, value === '' ? '–' : value));
  }
  if (more) list.append(el('dt', {}, '…'), el('dd', {}, plural(more, 'more column')));
  return el('div', {class: 'face rows', tabindex: '0', role: 'group', 'aria-label': 'its columns'}, list);
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
