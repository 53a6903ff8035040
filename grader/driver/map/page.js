// The page: what is shown, what is chosen, and who is told when that changes.

const kMostAtOnce = 1500;  // requests; of a larger launch one block is shown at first

class Page {
  constructor(map) {
    this.map = map;
    this.launch = null;
    this.chosen = null;   // the access that is highlighted, or null
    this.current = null;  // the request that is drawn large, or null
    this.timer = 0;
    drawHeader(this);
    drawFindings(this);
    this.connect();
    this.open(map.launches[map.first_launch]);
  }

  connect() {
    const on = (id, event, action) => document.getElementById(id).addEventListener(event, action);
    on('block', 'change', () => this.filter());
    on('warp', 'change', () => this.filter());
    on('step', 'input', (event) => this.select(this.shown[+event.target.value], true));
    on('back', 'click', () => this.step(-1));
    on('forward', 'click', () => this.step(1));
    on('play', 'click', () => this.play());
    document.addEventListener('keydown', (event) => this.key(event));
    window.addEventListener('resize', () => this.draw());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  key(event) {
    const tag = event.target.tagName;
    if (tag === 'SELECT' || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const actions = {
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      Escape: () => this.highlight(null),
      ' ': () => this.play(),
    };
    if (actions[event.key] && !(event.key === ' ' && tag === 'BUTTON')) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  /// Shows another launch.
  open(launch) {
    if (launch === this.launch) {
      return;
    }
    Object.assign(this, {launch, chosen: null});
    drawLaunches(this);
    drawSummary(this);
    drawSource(this);
    fillFilter('block', launch.blocks);
    fillFilter('warp', launch.warps);
    if (launch.requests.length > kMostAtOnce) {
      document.getElementById('block').value = launch.blocks[0];
    }
    this.makePanels();
    const [marked] = this.panels.flatMap(({places}) => places.flat());
    this.current = marked ? marked.request : worst(launch.requests);
    this.filter();
  }

  makePanels() {
    const box = document.getElementById('panels');
    box.replaceChildren();
    const places = this.map.findings.map(
        (finding) => placesOf(finding, this.launch).map((place) => ({...place, finding})));
    this.panels = this.launch.buffers.map((buffer) => {
      const painter = buffer.shared ? new SharedPainter() : new GlobalPainter(this.map, buffer);
      const panel = new Panel(this, buffer, painter);
      panel.places =
          places.map((list) => list.filter(({request}) => buffer.requests.includes(request)));
      panel.isMarked = panel.places.some((list) => list.length > 0);
      return panel;
    });
    // What is wrong comes first, then what is wasteful, then in the order of first use.
    const rank = ({isMarked, buffer}) => 2 * isMarked + (grade(total(buffer.requests).ratio) > 0);
    this.panels.sort((a, b) => rank(b) - rank(a));
    box.append(...this.panels.map(({element}) => element));
    if (this.launch.requests.length === 0) {
      add(box, 'p', 'This launch touched no memory.');
    }
    const missing = total(this.launch.lines).requests - this.launch.requests.length;
    if (missing > 0) {
      const drawn = count(this.launch.requests.length, 'request');
      const text =
          `The first ${drawn} are drawn, the other ${kNumber.format(missing)} only counted.`;
      add(box, 'p', text, 'quiet');
    }
  }

  /// Shows the chosen blocks and warps only.
  filter() {
    const wanted = (id) => document.getElementById(id).value;
    const [block, warp] = [wanted('block'), wanted('warp')];
    this.shown = this.launch.requests.filter(
        (request) =>
            (block === '' || request.block === +block) && (warp === '' || request.warp === +warp));
    if (!this.shown.includes(this.current)) {
      this.current = worst(this.shown);
    }
    const shown = new Set(this.shown);
    for (const panel of this.panels) {
      panel.show(panel.buffer.requests.filter((request) => shown.has(request)));
    }
    this.draw();
  }

  highlight(access) {
    this.chosen = access === this.chosen ? null : access;
    const own = this.shown.filter((request) => !this.isDimmed(request));
    if (this.chosen && own.length > 0 && !own.includes(this.current)) {
      this.current = worst(own);
    }
    this.draw();
    this.reveal(false);
  }

  isDimmed(request) {
    return this.chosen !== null && request.access !== this.chosen;
  }

  select(request, reveal = false) {
    this.current = request || null;
    if (request && !this.shown.includes(request)) {
      document.getElementById('block').value = '';
      document.getElementById('warp').value = '';
      this.filter();
    }
    this.draw();
    this.reveal(reveal);
  }

  /// To the next request, or the one before; of the highlighted access if there is one.
  step(by) {
    const own = this.shown.filter((request) => !this.isDimmed(request));
    const i = own.indexOf(this.current) + by;
    if (i >= 0 && i < own.length) {
      this.select(own[i], true);
    }
    return i + by < own.length;
  }

  play() {
    const stop = this.timer !== 0;
    clearInterval(this.timer);
    this.timer = stop ? 0 : setInterval(() => this.step(1) || this.play(), 150);
    document.getElementById('play').textContent = stop ? 'play' : 'stop';
  }

  draw() {
    this.panels.forEach((panel) => panel.draw());
    drawRequest(this, this.current);
    markSource(this);
    const step = document.getElementById('step');
    const i = this.shown.indexOf(this.current);
    step.max = Math.max(0, this.shown.length - 1);
    step.value = i;
    document.getElementById('position').textContent = `${i + 1} of ${this.shown.length}`;
  }

  /// Brings the current request's row into sight, and with `far` its panel too.
  reveal(far) {
    const panel = this.panels.find(({buffer}) => buffer.requests.includes(this.current));
    if (panel) {
      panel.reveal(this.current);
      if (far) {
        panel.element.scrollIntoView({block: 'nearest'});
      }
    }
  }

  showTip(event, text) {
    const tip = document.getElementById('tip');
    tip.textContent = text;
    tip.hidden = false;
    const right = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 16 + tip.offsetHeight < window.innerHeight;
    tip.style.left = `${right}px`;
    tip.style.top = `${below ? event.clientY + 16 : event.clientY - tip.offsetHeight - 10}px`;
  }

  hideTip() {
    document.getElementById('tip').hidden = true;
  }
}

/// The first of those that cost the most beyond the least.
function worst(requests) {
  return requests.reduce(
      (most, request) => (!most || request.ratio > most.ratio ? request : most), null);
}

function fillFilter(id, numbers) {
  const select = document.getElementById(id);
  select.replaceChildren(
      new Option('all', ''), ...numbers.map((number) => new Option(number, number)));
  select.disabled = numbers.length < 2;
}

const page = new Page(prepare(JSON.parse(document.getElementById('data').textContent)));
