// A panel: the requests to one buffer, a row each, time downwards. What a row looks like is the
// business of its painter (global.js, shared.js); here are the canvas, the rows, the tip, the
// marks of findings and the cursor.
//
// A painter has
//   fit(requests)                is told which requests will be shown
//   height(request)              rows of pixels' units that the request takes: 1, or its wavefronts
//   axis(context, panel)         paints the axis above
//   grid(context, panel, height) paints what lies behind the requests
//   paint(context, panel, request, y, height)
//   x(panel, request, offset)    where a byte of the request is
//   lane(panel, request, x, y)   the lane below the mouse, or null; y: 0 to 1 within the request

const kGutter = 74;  // pixels left of the addresses, for blocks and warps
const kAxis = 22;    // pixels of the axis
const kLeastRow = 3, kMostRow = 12, kWantedHeight = 400;

class Panel {
  constructor(page, buffer, painter) {
    Object.assign(this, {page, buffer, painter, places: [], dragged: false});
    this.element = document.createElement('section');
    this.element.className = 'panel';
    this.header = add(this.element, 'header');
    add(this.header, 'h2', buffer.name);
    this.title = add(this.header, 'span', '', 'quiet');
    const scroll = add(this.element, 'div', '', 'scroll');
    this.axis = add(this.element, 'canvas', '', 'axis');
    this.element.insertBefore(this.axis, scroll);
    this.canvas = add(scroll, 'canvas', '', 'rows');
    this.canvas.addEventListener('mousemove', (event) => this.hover(event));
    this.canvas.addEventListener('mouseleave', () => this.page.hideTip());
    this.canvas.addEventListener('click', (event) => this.choose(event));
    if (painter.connect) {
      painter.connect(this);
    }
  }

  /// The requests that the filters leave, from top to bottom.
  show(requests) {
    this.shown = requests;
    this.element.hidden = requests.length === 0;
    this.painter.fit(requests);
    this.tops = [0];
    for (const request of requests) {
      this.tops.push(this.tops[this.tops.length - 1] + this.painter.height(request));
    }
    const units = this.tops[requests.length];
    this.rowHeight = Math.max(kLeastRow, Math.min(kMostRow, Math.floor(kWantedHeight / units)));
    const sum = total(requests);
    this.title.textContent =
        `${kSpaces[this.buffer.space]} · ${count(sum.requests, 'request')}, ${
            costText(sum, this.buffer)} (${times(sum.ratio)})${againText(requests)}`;
  }

  draw() {
    if (this.element.hidden) {
      return;
    }
    this.width = this.element.clientWidth - 2;
    this.style = palette();
    this.painter.axis(contextOf(this.axis, this.width, kAxis, this.style), this);
    const height = this.tops[this.shown.length] * this.rowHeight;
    const context = contextOf(this.canvas, this.width, height, this.style);
    this.painter.grid(context, this, height);
    this.shown.forEach((request, i) => this.drawRow(context, request, i));
    this.drawGutter(context);
    this.drawPlaces(context);
  }

  drawRow(context, request, i) {
    const y = this.tops[i] * this.rowHeight;
    const height = (this.tops[i + 1] - this.tops[i]) * this.rowHeight;
    context.globalAlpha = this.page.isDimmed(request) ? 0.13 : 1;
    this.painter.paint(context, this, request, y, height);
    context.globalAlpha = 1;
    if (request === this.page.current) {
      context.strokeStyle = this.style.focus;
      context.lineWidth = 2;
      context.strokeRect(kGutter - 1, y - 0.5, this.width - kGutter, height + 1);
    }
  }

  /// Names of blocks, and of warps where a row is high enough.
  drawGutter(context) {
    context.fillStyle = this.style.faint;
    context.strokeStyle = this.style.line;
    context.lineWidth = 1;
    let free = 0;  // pixels above are taken by a name
    this.shown.forEach((request, i) => {
      const y = this.tops[i] * this.rowHeight;
      const before = this.shown[i - 1];
      if (!before || before.block !== request.block) {
        line(context, 0, y, this.width, y);
        if (y >= free) {
          context.fillText(`block ${request.block}`, 3, y + 11);
          free = y + 13;
        }
      }
      if (this.rowHeight >= 10) {
        context.fillText(`w${request.warp}`, kGutter - 24, y + 9.5);
      }
    });
  }

  drawPlaces(context) {
    for (const places of this.places) {
      const points = places.map((place) => this.pointOf(place));
      drawFinding(context, points.filter((point) => point !== null), this.style);
    }
  }

  /// Where a party of a finding is on the canvas; null if it is out of sight.
  pointOf({request, offset, finding}) {
    const i = this.shown.indexOf(request);
    const x = this.painter.x(this, request, offset);
    if (i < 0 || x < kGutter || x > this.width) {
      return null;
    }
    const y = (this.tops[i] + this.tops[i + 1]) / 2 * this.rowHeight;
    return {x, y: Math.max(7, y), finding};
  }

  /// The request below the mouse, and where in it.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const units = (event.clientY - box.top) / this.rowHeight;
    const i = this.tops.findIndex((top) => top > units) - 1;
    const request = i >= 0 ? this.shown[i] : undefined;
    const y = request ? (units - this.tops[i]) / (this.tops[i + 1] - this.tops[i]) : 0;
    return {request, x: event.clientX - box.left, y};
  }

  hover(event) {
    const {request, x, y} = this.at(event);
    if (!request) {
      this.page.hideTip();
      return;
    }
    const lane = this.painter.lane(this, request, x, y);
    const element =
        lane ? `\nlane ${lane.lane}: ${elementName(this.page.map, request, lane.offset)}` : '';
    this.page.showTip(event, requestText(request) + element);
  }

  choose(event) {
    const {request} = this.at(event);
    if (request && !this.dragged) {
      this.page.select(request);
    }
  }

  /// Scrolls the request's row into sight, within the panel.
  reveal(request) {
    const i = this.shown.indexOf(request);
    const scroll = this.canvas.parentElement;
    const y = i < 0 ? 0 : this.tops[i] * this.rowHeight;
    if (i >= 0 && (y < scroll.scrollTop || y > scroll.scrollTop + scroll.clientHeight - 20)) {
      scroll.scrollTop = y - scroll.clientHeight / 2;
    }
  }
}

// ---- canvas -------------------------------------------------------------------------------------

function add(parent, tag, text = '', className = '') {
  const element = parent.appendChild(document.createElement(tag));
  element.textContent = text;
  element.className = className;
  return element;
}

/// The colours of the style sheet, for the canvas.
function palette() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const result = {ratios: [0, 1, 2, 3, 4].map((i) => value(`ratio${i}`)), shade: +value('shade')};
  for (const name of ['page', 'ink', 'faint', 'grid', 'line', 'row', 'focus', 'race']) {
    result[name] = value(name);
  }
  return result;
}

/// 0 for the least possible to 4 for eight times as much and more.
function grade(value) {
  const shown = value < 1.001 ? 1 : Math.max(1.1, Math.round(10 * value) / 10);  // as times() says
  const bounds = [1.1, 2, 4, 8];
  const i = bounds.findIndex((bound) => shown < bound);
  return i < 0 ? bounds.length : i;
}

function contextOf(canvas, width, height, style) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  context.font = '10px system-ui, "DejaVu Sans", sans-serif';
  context.fillStyle = style.ink;
  return context;
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/// A line of the grid, on whole pixels.
function gridLine(context, at, height, colour) {
  const x = Math.round(at) + 0.5;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  line(context, x, 0, x, height);
}

/// Frames what was written, where there is room for a frame.
function frame(context, panel, request, x, y, width, height) {
  if (request.access.type !== 'read' && panel.rowHeight >= 5) {
    context.strokeStyle = panel.style.ink;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), height - 1);
  }
}

/// A cross for each party, with the finding's number, and a line from one to the other.
function drawFinding(context, points, style) {
  context.strokeStyle = style.race;
  context.fillStyle = style.race;
  context.lineWidth = 2;
  if (points.length === 2) {
    context.setLineDash([4, 3]);
    line(context, points[0].x, points[0].y, points[1].x, points[1].y);
    context.setLineDash([]);
  }
  for (const {x, y, finding} of points) {
    for (const [colour, width] of [[style.page, 5], [style.race, 2.5]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      line(context, x - 5, y - 5, x + 5, y + 5);
      line(context, x - 5, y + 5, x + 5, y - 5);
    }
    context.font = 'bold 12px system-ui, sans-serif';
    context.strokeStyle = style.page;
    context.lineWidth = 3;
    context.strokeText(String(finding.number), x + 7, y + 4);
    context.fillText(String(finding.number), x + 7, y + 4);
  }
}
