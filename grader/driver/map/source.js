// The kernel's source; below each line the accesses it made, with what they cost.

function drawSource(page) {
  const box = document.getElementById('source');
  box.replaceChildren();
  const {name, text} = page.map.source;
  add(box, 'h2', name);
  const accesses = page.launch.lines;
  const lines = text.replace(/\n$/, '').split('\n');
  lines.forEach((code, i) => {
    const own = accesses.filter((access) => access.file === name && access.line === i + 1);
    const row = addCode(box, i + 1, code, own);
    add(row, 'span', marksOf(page, i + 1), 'mark');
    own.forEach((access) => addAccess(page, box, access));
  });
  const elsewhere = accesses.filter(
      (access) => access.file !== name || access.line < 1 || access.line > lines.length);
  if (elsewhere.length > 0) {
    add(box, 'h2', 'In other files');
    elsewhere.forEach((access) => addAccess(page, box, access, `${accessName(access)}`));
  }
  const first = box.querySelector('.touches');
  if (first) {
    box.scrollTop = first.offsetTop - 150;
  }
}

function addCode(box, number, code, accesses) {
  const row = add(box, 'div', '', 'code');
  row.dataset.line = number;
  add(row, 'i', number);
  add(row, 'span', code);
  row.classList.toggle('comment', code.trim().startsWith('//'));
  if (accesses.length > 0) {
    const worst = Math.max(...accesses.map((access) => access.ratio));
    row.classList.add('touches');
    row.style.setProperty('--hue', `var(--ratio${grade(worst)})`);
  }
  return row;
}

function addAccess(page, box, access, name) {
  const button = add(box, 'button', '', 'access');
  button.dataset.access = access.index;
  button.style.setProperty('--hue', `var(--ratio${grade(access.ratio)})`);
  add(button, 'span', '', 'swatch');
  const what = name || `${kVerbs[access.type]} ${access.buffer}`;
  add(button, 'span', `${what}: ${count(access.requests, 'request')}, ${averageText(access)}`);
  add(button, 'b', times(access.ratio));
  button.addEventListener('click', () => page.highlight(access));
}

/// Shows which access is highlighted and which line is the current request's.
function markSource(page) {
  const box = document.getElementById('source');
  for (const button of box.querySelectorAll('.access')) {
    const chosen = page.chosen !== null && +button.dataset.access === page.chosen.index;
    button.setAttribute('aria-pressed', chosen);
  }
  const access = page.current && page.current.access;
  for (const row of box.querySelectorAll('.code')) {
    const current = access && +row.dataset.line === lineIn(page.map.source.name, access);
    row.classList.toggle('current', Boolean(current));
    if (current &&
        (row.offsetTop < box.scrollTop || row.offsetTop > box.scrollTop + box.clientHeight - 60)) {
      box.scrollTop = row.offsetTop - box.clientHeight / 2;  // the box is positioned: from its top
    }
  }
}
