// The top of the page: what was run, the launches, what they cost altogether, the legend.

function drawHeader(page) {
  const {exercise, call, naive} = page.map;
  const title = naive ? `${exercise}, the naive version` : exercise;
  document.title = `${title}: access map`;
  document.getElementById('title').textContent = `${title}: which bytes each warp touches`;
  document.getElementById('subtitle').textContent = `${call} · on the CPU simulator`;
  drawLegend();
}

function drawLegend() {
  const legend = document.getElementById('legend');
  const names =
      ['as little as possible', 'below 2×', '2 to 4×', '4 to 8×', '8× the least and more'];
  names.forEach((name, i) => {
    const item = add(legend, 'span');
    item.style.setProperty('--hue', `var(--ratio${i})`);
    add(item, 'i', '', 'swatch');
    item.append(name);
  });
  add(add(legend, 'span'), 'i', '', 'swatch written').after('framed: written');
  const item = add(legend, 'span');
  add(item, 'span', '✕', 'mark');
  item.append('race or other finding');
}

/// A button for each launch, if there are several.
function drawLaunches(page) {
  const box = document.getElementById('launches');
  box.replaceChildren();
  for (const launch of page.map.launches) {
    const text = `${launch.number + 1}. ${launchText(launch)}`;
    const button = add(box, 'button', text);
    button.setAttribute('aria-pressed', launch === page.launch);
    button.addEventListener('click', () => page.open(launch));
  }
}

/// "rmsnorm_forward_kernel<<<4, 256>>>"
function launchText({kernel, grid, block}) {
  const size = ([x, y, z]) => (z > 1 ? `(${x}, ${y}, ${z})` : y > 1 ? `(${x}, ${y})` : String(x));
  return `${kernel}<<<${size(grid)}, ${size(block)}>>>`;
}

function drawSummary(page) {
  const box = document.getElementById('summary');
  box.replaceChildren();
  addPasses(box, page.map);
  for (const space of Object.keys(kSpaces)) {
    const accesses = page.launch.lines.filter((access) => access.space === space);
    if (accesses.length > 0) {
      addTile(box, space, total(accesses));
    }
  }
  if (page.map.launches.length > 1) {
    const lines = page.map.launches.flatMap((launch) => launch.lines);
    const all = total(lines.filter(({space}) => space === 'global'));
    const tile = add(box, 'div', '', 'tile');
    add(tile, 'div', `All ${page.map.launches.length} launches: ${count(all.units, 'sector')}`);
    add(tile, 'div', `${count(kSector * all.units, 'byte')} of global memory`, 'quiet');
  }
  const wasteful = page.launch.lines.filter((access) => access.ratio > 1.001);
  if (wasteful.length > 0) {
    const most =
        wasteful.reduce((a, b) => (b.units - b.least_units > a.units - a.least_units ? b : a));
    const tile = add(box, 'button', '', 'tile');
    tile.style.setProperty('--hue', `var(--ratio${grade(most.ratio)})`);
    add(tile, 'div', 'Most is wasted here:');
    add(tile, 'div', `${accessName(most)}: ${averageText(most)}`);
    tile.addEventListener('click', () => page.highlight(most));
  }
}

/// Coloured by how many times the bytes are asked for that passing once over each tensor takes.
function addPasses(box, map) {
  const tile = add(box, 'div', '', 'tile passes');
  const launches = map.launches.length;
  const where = launches > 1 ? `, in all ${launches} launches` : '';
  add(tile, 'div', `Passes over each tensor${where}`);
  let asked = 0;
  let least = 0;
  for (const one of passesOf(map)) {
    add(tile, 'div', passesText(one), one.tensor ? '' : 'quiet');
    asked += one.read + one.write + one.atomic;
    if (one.tensor) {
      least += (one.tensor.is_input + one.tensor.is_output) * tensorBytes(one.tensor);
    }
  }
  tile.style.setProperty('--hue', `var(--ratio${grade(asked / least)})`);
}

function addTile(box, space, sum) {
  const tile = add(box, 'div', '', 'tile');
  tile.style.setProperty('--hue', `var(--ratio${grade(sum.ratio)})`);
  const name = `${kSpaces[space]} memory: `;
  const first = add(tile, 'div', name[0].toUpperCase() + name.slice(1));
  add(first, 'b', times(sum.ratio));
  first.append(' what its requests need');
  const access = {shared: space === 'shared'};
  const used = Math.round(100 * sum.bytes / (kSector * sum.units));
  const usedPart = access.shared ? '' : `, ${used} % of the bytes moved are used`;
  add(tile, 'div', `${count(sum.requests, 'request')}, ${costText(sum, access)}${usedPart}`,
      'quiet');
}
