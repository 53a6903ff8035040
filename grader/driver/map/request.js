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

function svg(tag, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  return element;
}

function drawing(height) {
  return svg('svg', {viewBox: `0 0 ${kDrawing} ${height}`, 'aria-hidden': true});
}

function putBox(picture, x, y, width, height, attributes) {
  picture.append(svg('rect', {x, y, width, height, fill: 'var(--hue)', ...attributes}));
}

function putText(picture, x, y, text, kind = 'quiet') {
  const element = svg('text', {x, y, class: kind});
  element.textContent = text;
  picture.append(element);
}

/// The left edge of 32 lanes or banks.
const kLanesLeft = (kDrawing - 32 * kLaneWidth) / 2;

function laneX(lane) {
  return kLanesLeft + (lane + 0.5) * kLaneWidth;
}

/// The 32 lanes in a row; those that take part are filled.
function drawLanes(picture, request) {
  for (let lane = 0; lane < 32; ++lane) {
    const active = (request.lanes >>> lane) & 1;
    putBox(picture, laneX(lane) - kLaneWidth / 2 + 1, 12, kLaneWidth - 2, kLaneHeight, {
      rx: 2,
      fill: active ? 'var(--box)' : 'none',
      stroke: active ? 'var(--ink)' : 'var(--rule)',
    });
    if (active) {
      putText(picture, laneX(lane), 25, lane, 'middle');
    }
  }
  putText(picture, kLanesLeft, 9, 'lanes');
}

// ---- global memory ------------------------------------------------------------------------------

function globalDrawing(page, request) {
  const picture = drawing(126);
  drawLanes(picture, request);
  const place = placeSectors(request.moved);
  const y = 82;
  for (const {lane, offset} of request.lanesAt) {
    picture.append(svg('line', {
      x1: laneX(lane),
      y1: 12 + kLaneHeight,
      x2: place.x(offset + request.bytes / 2),
      y2: y,
      stroke: 'var(--hue)',
      opacity: 0.75,
    }));
  }
  for (const [from, to] of request.used) {
    putBox(picture, place.x(from), y, Math.max(1, place.end(to) - place.x(from)), 20);
  }
  let free = 0;
  for (const sector of place.sectors) {
    const x = place.x(sector);
    putBox(picture, x, y, place.width, 20, {
      'fill-opacity': 'var(--shade)',
      stroke: 'var(--ink)',
      'stroke-width': 0.6,
    });
    if (x >= free) {
      putText(picture, x, y + 32, sector);
      free = x + 7 * String(sector).length + 6;
    }
  }
  putText(picture, kDrawing / 2, 124, 'sectors of 32 bytes, each with its first byte; solid: used',
          'quiet middle');
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
  putText(picture, kLanesLeft, 9, 'banks, and the lanes that each serves; a row is a wavefront');
  for (let bank = 0; bank < kBanks; ++bank) {
    const x = laneX(bank);
    putText(picture, x, 24, bank, 'quiet middle');
    shown.forEach((banks, row) => drawBank(picture, x, 28 + row * kLaneHeight, banks[bank]));
  }
  if (more > 0) {
    putText(picture, kLanesLeft, 40 + shown.length * kLaneHeight,
            `and ${count(more, 'wavefront')} more`);
  }
  return picture;
}

function drawBank(picture, x, y, word) {
  putBox(picture, x - kLaneWidth / 2 + 1, y, kLaneWidth - 2, kLaneHeight - 2,
         {'fill-opacity': word ? 0.5 : 0.1});
  if (word) {
    putText(picture, x, y + 12, lanesText(word.lanes), 'lane middle');
  }
}

function lanesText(lanes) {
  const last = lanes[lanes.length - 1];
  return lanes.length === 1 ? String(lanes[0]) : `${lanes[0]}–${last}`;
}
