// One request, drawn large: its 32 lanes, and the sectors or the banks they go to.

const kDrawing = 800;  // the drawing's width in its own units
const kLaneWidth = 24;
const kLaneHeight = 18;
const kMostWavefronts = 8;  // that are drawn

function drawRequest(page, request) {
  const box = document.getElementById('request');
  box.replaceChildren();
  box.hidden = !request;
  if (!request) {
    return;
  }
  box.style.setProperty('--hue', `var(--ratio${grade(request.ratio)})`);
  const access = request.access;
  const heading = add(box, 'h2');
  add(heading, 'span', '', 'swatch');
  heading.append(` ${accessName(access)}, block ${request.block}, warp ${request.warp}: ${
      costText(request, access)}${request.ratio > 1 ? ` (${times(request.ratio)})` : ''}`);
  add(box, 'p', explain(request) + positionText(page, request));
  box.append(access.shared ? sharedDrawing(request) : globalDrawing(page, request));
}

/// " Lane 0 is at x[1][32]."
function positionText(page, request) {
  const first = request.lanesAt[0];
  return first ? ` Lane ${first.lane} is at ${elementName(page.map, request, first.offset)}.` : '';
}

function svg(tag, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  if (text !== undefined) {
    element.textContent = text;
  }
  return element;
}

function drawing(height) {
  return svg('svg', {viewBox: `0 0 ${kDrawing} ${height}`, 'aria-hidden': true});
}

/// The 32 lanes in a row; those that take part are filled.
function drawLanes(picture, request) {
  const left = (kDrawing - 32 * kLaneWidth) / 2;
  for (let lane = 0; lane < 32; ++lane) {
    const active = (request.lanes >>> lane) & 1;
    picture.append(svg('rect', {
      x: left + lane * kLaneWidth + 1,
      y: 12,
      width: kLaneWidth - 2,
      height: kLaneHeight,
      rx: 2,
      fill: active ? 'var(--box)' : 'none',
      stroke: active ? 'var(--ink)' : 'var(--rule)',
    }));
    if (active) {
      const x = left + (lane + 0.5) * kLaneWidth;
      picture.append(svg('text', {x, y: 25, 'text-anchor': 'middle'}, lane));
    }
  }
  picture.append(svg('text', {x: left, y: 9, class: 'quiet'}, 'lanes'));
  return (lane) => left + (lane + 0.5) * kLaneWidth;
}

// ---- global memory ------------------------------------------------------------------------------

function globalDrawing(page, request) {
  const picture = drawing(126);
  const laneX = drawLanes(picture, request);
  const place = placeSectors(request.moved);
  const y = 82;
  for (const {lane, offset} of request.lanesAt) {
    picture.append(svg('line', {
      x1: laneX(lane),
      y1: 12 + kLaneHeight,
      x2: place.x(offset + request.bytes / 2),
      y2: y,
      stroke: 'var(--hue)',
      'stroke-width': 1,
      opacity: 0.75,
    }));
  }
  for (const [from, to] of request.used) {
    picture.append(svg('rect', {
      x: place.x(from),
      y,
      width: Math.max(1, place.end(to) - place.x(from)),
      height: 20,
      fill: 'var(--hue)',
    }));
  }
  let free = 0;
  for (const sector of place.sectors) {
    picture.append(svg('rect', {
      x: place.x(sector),
      y,
      width: place.width,
      height: 20,
      fill: 'var(--hue)',
      'fill-opacity': 'var(--shade)',
      stroke: 'var(--ink)',
      'stroke-width': 0.6,
    }));
    if (place.x(sector) >= free) {
      const text = `${sector}`;
      picture.append(svg('text', {x: place.x(sector), y: y + 32, class: 'quiet'}, text));
      free = place.x(sector) + 7 * text.length + 6;
    }
  }
  const label = 'sectors of 32 bytes, each with its first byte; solid: used';
  picture.append(
      svg('text', {x: kDrawing / 2, y: 124, 'text-anchor': 'middle', class: 'quiet'}, label));
  return picture;
}

/// The sectors side by side, with a gap where memory is left out between two.
function placeSectors(moved) {
  const sectors = moved.flatMap(
      ([from, to]) => Array.from({length: (to - from) / kSector}, (_, i) => from + i * kSector));
  const gaps = moved.length - 1;
  const gap = Math.min(10, 190 / Math.max(1, gaps));
  const width = Math.min(8 * kLaneWidth, (kDrawing - 10 - gaps * gap) / sectors.length);
  const starts = new Map();
  let x = (kDrawing - sectors.length * width - gaps * gap) / 2;
  sectors.forEach((sector, i) => {
    x += i > 0 && sector !== sectors[i - 1] + kSector ? gap : 0;
    starts.set(sector, x);
    x += width;
  });
  const at = (byte) => {
    const sector = kSector * Math.floor(byte / kSector);
    return starts.get(sector) + (byte - sector) / kSector * width;
  };
  return {sectors, width, x: at, end: (byte) => at(byte - 1) + width / kSector};
}

// ---- shared memory ------------------------------------------------------------------------------

function sharedDrawing(request) {
  const shown = request.wavefronts.slice(0, kMostWavefronts);
  const more = request.wavefronts.length - shown.length;
  const picture = drawing(34 + shown.length * kLaneHeight + (more > 0 ? 16 : 0));
  const left = (kDrawing - kBanks * kLaneWidth) / 2;
  const name = 'banks, and the lanes that each serves; a row is a wavefront';
  picture.append(svg('text', {x: left, y: 9, class: 'quiet'}, name));
  for (let bank = 0; bank < kBanks; ++bank) {
    const x = left + (bank + 0.5) * kLaneWidth;
    picture.append(svg('text', {x, y: 24, 'text-anchor': 'middle', class: 'quiet'}, bank));
    shown.forEach((banks, row) => drawBank(picture, x, 28 + row * kLaneHeight, banks[bank]));
  }
  if (more > 0) {
    const y = 40 + shown.length * kLaneHeight;
    picture.append(
        svg('text', {x: left, y, class: 'quiet'}, `and ${count(more, 'wavefront')} more`));
  }
  return picture;
}

function drawBank(picture, x, y, word) {
  picture.append(svg('rect', {
    x: x - kLaneWidth / 2 + 1,
    y,
    width: kLaneWidth - 2,
    height: kLaneHeight - 2,
    fill: 'var(--hue)',
    'fill-opacity': word ? 0.5 : 0.1,
  }));
  if (word) {
    const text = lanesText(word.lanes);
    picture.append(svg('text', {x, y: y + 12, 'text-anchor': 'middle', class: 'lane'}, text));
  }
}

function lanesText(lanes) {
  const last = lanes[lanes.length - 1];
  return lanes.length === 1 ? String(lanes[0]) : `${lanes[0]}–${last}`;
}
