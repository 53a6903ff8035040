// The painter of global memory: addresses from left to right, the sectors of a request shaded and
// the bytes that its lanes use solid.

const kLeastLabel = 56;  // pixels from one address to the next on the axis

class GlobalPainter {
  constructor(map, buffer) {
    this.shape = map.buffers.find(({name}) => name === buffer.name);
  }

  /// Shows all of the bytes that these requests move.
  fit(requests) {
    this.first = Infinity;
    this.end = 0;
    for (const [from, to] of requests.flatMap(({moved}) => moved)) {
      this.first = Math.min(this.first, kLine * Math.floor(from / kLine));
      this.end = Math.max(this.end, kLine * Math.ceil(to / kLine));
    }
    this.from = this.first;
    this.to = this.end;
  }

  height() {
    return 1;
  }

  scale(panel) {
    return (panel.width - kGutter) / (this.to - this.from);
  }

  at(panel, byte) {
    return kGutter + (byte - this.from) * this.scale(panel);
  }

  x(panel, request, offset) {
    return this.at(panel, offset + request.bytes / 2);
  }

  lane(panel, request, x) {
    const byte = this.from + (x - kGutter) / this.scale(panel);
    const within = (slack) => request.lanesAt.find(
        ({offset}) => byte >= offset - slack && byte < offset + request.bytes + slack);
    return within(0) || within(2 / this.scale(panel)) || null;
  }

  /// Bytes, and the starts of rows where the buffer has rows.
  axis(context, panel) {
    context.fillStyle = panel.style.faint;
    const scale = this.scale(panel);
    let step = kSector;
    while (step * scale < kLeastLabel) {
      step *= 2;
    }
    for (let byte = step * Math.ceil(this.from / step); byte < this.to; byte += step) {
      if (this.at(panel, byte) < panel.width - 34) {
        context.fillText(byteName(byte), this.at(panel, byte) + 2, 9);
      }
    }
    context.fillText('byte', 3, 9);
    this.rowStarts(scale, 30, (row, byte) => {
      context.fillStyle = panel.style.ink;
      context.fillText(`${this.shape.name}[${row}]`, this.at(panel, byte) + 2, 20);
    });
  }

  /// Calls `mark` for the rows of the buffer that start in sight, if they are `least` pixels apart.
  rowStarts(scale, least, mark) {
    if (!this.shape || this.shape.rows < 2) {
      return;
    }
    const bytes = this.shape.stride * this.shape.element_bytes;
    if (bytes * scale < least) {
      return;
    }
    for (let row = Math.max(0, Math.ceil(this.from / bytes));
         row * bytes < this.to && row < this.shape.rows; ++row) {
      mark(row, row * bytes);
    }
  }

  grid(context, panel, height) {
    const scale = this.scale(panel);
    const mark = (byte, colour) => gridLine(context, this.at(panel, byte), height, colour);
    for (const [bytes, least, colour] of [
             [kSector, 5, panel.style.grid], [kLine, 10, panel.style.line]]) {
      const first = bytes * scale < least ? Infinity : bytes * Math.ceil(this.from / bytes);
      for (let byte = first; byte <= this.to; byte += bytes) {
        mark(byte, colour);
      }
    }
    this.rowStarts(scale, 10, (row, byte) => mark(byte, panel.style.row));
  }

  paint(context, panel, request, y, height) {
    const alpha = context.globalAlpha;
    context.fillStyle = panel.style.ratios[grade(request.ratio)];
    context.globalAlpha = alpha * panel.style.shade;
    request.moved.forEach(([from, to]) => this.bar(context, panel, from, to, y, height));
    context.globalAlpha = alpha;
    for (const [from, to] of request.used) {
      const [left, width] = this.bar(context, panel, from, to, y, height - 1);
      if (width > 2) {
        frame(context, panel, request, left, y, width, height - 1);
      }
    }
  }

  bar(context, panel, from, to, y, height) {
    const left = Math.max(kGutter, this.at(panel, from));
    const right = Math.min(panel.width, this.at(panel, to));
    if (right > left) {
      context.fillRect(left, y, Math.max(1, right - left), height);
    }
    return [left, right - left];
  }

  // ---- zoom ----

  connect(panel) {
    for (const [text, title, factor] of [['−', 'Zoom out', 2], ['+', 'Zoom in', 0.5]]) {
      const button = add(panel.header, 'button', text);
      button.title = title;
      button.addEventListener('click', () => this.zoom(panel, factor, (this.from + this.to) / 2));
    }
    add(panel.header, 'button', 'all').addEventListener('click', () => {
      this.look(panel, this.first, this.end);
    });
    panel.canvas.addEventListener('wheel', (event) => {
      if (event.ctrlKey) {
        event.preventDefault();
        const byte = this.from + (panel.at(event).x - kGutter) / this.scale(panel);
        this.zoom(panel, event.deltaY > 0 ? 1.25 : 0.8, byte);
      }
    }, {passive: false});
    panel.canvas.addEventListener('pointerdown', () => {
      panel.dragged = false;
    });
    panel.canvas.addEventListener('pointermove', (event) => {
      if (event.buttons === 1 && event.movementX !== 0) {
        panel.dragged = true;
        const bytes = event.movementX / this.scale(panel);
        this.look(panel, this.from - bytes, this.to - bytes);
      }
    });
  }

  zoom(panel, factor, byte) {
    this.look(panel, byte - (byte - this.from) * factor, byte + (this.to - byte) * factor);
  }

  /// Shows from `from` to `to`, or as much of it as there is.
  look(panel, from, to) {
    const size = Math.min(Math.max(to - from, 2 * kSector), this.end - this.first);
    this.from = Math.max(this.first, Math.min(from, this.end - size));
    this.to = this.from + size;
    panel.draw();
  }
}

function byteName(byte) {
  if (byte !== 0 && byte % 1048576 === 0) {
    return `${byte / 1048576} MiB`;
  }
  return byte >= 4096 && byte % 1024 === 0 ? `${byte / 1024} KiB` : String(byte);
}
