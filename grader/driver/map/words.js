// What the page says in words.

const kNumber = new Intl.NumberFormat('en');

function count(number, noun) {
  return `${kNumber.format(number)} ${noun}${number === 1 ? '' : 's'}`;
}

function times(value) {
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)}×`;
}

function fileName(path) {
  return path.split('/').pop();
}

/// The kinds of memory that requests go to, in the order of the page.
const kSpaces = {
  global: 'global',
  distributed: "other blocks' shared",
  shared: 'shared'
};

function unitOf(access) {
  return access.shared ? 'wavefront' : 'sector';
}

const kVerbs = {
  read: 'reads',
  write: 'writes',
  atomic: 'updates'
};

/// "forward.cu:41 reads x"; of a given header "fast.h:57 (called from 41) reads x"
function accessName(access) {
  const caller = access.called_from > 0 ? ` (called from ${access.called_from})` : '';
  const place = access.line > 0 ? `${fileName(access.file)}:${access.line}${caller}` :
                                  'unknown line';
  return `${place} ${kVerbs[access.type]} ${access.buffer}`;
}

/// "32 sectors where 4 would do"
function costText(cost, access) {
  const units = count(cost.units, unitOf(access));
  return cost.units > cost.least_units ? `${units} where ${cost.least_units} would do` :
                                         `${units}, no more than needed`;
}

const kDone = {
  read: 'read',
  write: 'written',
  atomic: 'updated'
};

/// "x: read 2.0 times, least 1"; of what is no tensor "scratch: 4,096 bytes written".
function passesText({name, tensor, ...bytes}) {
  const least = tensor ? {read: +tensor.is_input, write: +tensor.is_output} : {};
  const told = Object.keys(kDone).filter((type) => bytes[type] > 0 || least[type] > 0);
  const texts = told.map((type) => {
    if (!tensor) {
      return `${count(bytes[type], 'byte')} ${kDone[type]}`;
    }
    const text = `${kDone[type]} ${(bytes[type] / tensorBytes(tensor)).toFixed(1)} times`;
    return type in least ? `${text}, least ${least[type]}` : text;
  });
  return `${name}: ${texts.join('; ')}`;
}

/// ", read 2.0 times": what a second pass over a buffer of global memory costs.
function againText(requests) {
  return Object.entries(kDone).map(([type, done]) => {
    const again = timesUsed(requests.filter(({access}) => access.type === type));
    return again > 1 ? `, ${done} ${again.toFixed(1)} times` : '';
  }).join('');
}

/// In how many of the requests each byte is that any of them uses, on average.
function timesUsed(requests) {
  const used = requests.flatMap((request) => request.used || []);
  const length = (ranges) => ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  return length(used) / Math.max(1, length(merged(used)));
}

/// The same per request, for a line of source: "32 sectors a request where 4 would do".
function averageText(access) {
  const average = (sum) => {
    const value = sum / access.requests;
    return Number.isInteger(value) ? String(value) : value.toFixed(1);
  };
  const units = average(access.units);
  const text = `${units} ${unitOf(access)}${units === '1' ? '' : 's'} a request`;
  return access.units > access.least_units ? `${text}, ${average(access.least_units)} would do` :
                                             text;
}

/// "x[1][32]" where the shape of the buffer is known.
function elementName(map, request, offset) {
  const name = request.access.buffer;
  if (request.access.shared) {
    return offset % request.bytes === 0 ? `${name}[${offset / request.bytes}]` :
                                          `${name}, byte ${offset}`;
  }
  const shape = map.buffers.find((buffer) => buffer.name === name);
  if (!shape) {
    return `${name}, byte ${offset}`;
  }
  const element = Math.floor(offset / shape.element_bytes);
  return shape.rows > 1 && shape.cols > 1 ?
      `${name}[${Math.floor(element / shape.stride)}][${element % shape.stride}]` :
      `${name}[${element}]`;
}

/// The distance from each active lane to the next, if it is always the same; else null.
function stepOf(request) {
  const at = request.lanesAt;
  if (at.length < 2) {
    return null;
  }
  const step = (at[1].offset - at[0].offset) / (at[1].lane - at[0].lane);
  const regular =
      at.every(({lane, offset}) => offset === at[0].offset + (lane - at[0].lane) * step);
  return regular ? step : null;
}

/// Why a request costs what it does, and what would be better.
function explain(request) {
  return request.access.shared ? explainShared(request) : explainGlobal(request);
}

function explainGlobal(request) {
  const step = stepOf(request);
  const size = request.bytes;
  if (request.lanesAt.length === 1) {
    return `One lane alone: ${size} of the 32 bytes of its sector are used.`;
  }
  if (step === 0) {
    return 'All lanes touch the same element: one sector serves them all.';
  }
  if (request.ratio <= 1) {
    return Math.abs(step) === size ?
        'Neighbouring lanes touch neighbouring elements: coalesced, every byte moved is used.' :
        'The lanes share their sectors as well as they can.';
  }
  if (Math.abs(step) === size) {
    return `Neighbouring lanes touch neighbouring elements, but the first byte is ${
        request.used[0][0] % kSector} bytes into a sector: one sector more than needed.`;
  }
  if (step !== null) {
    return `Neighbouring lanes are ${Math.abs(step)} bytes apart, and each uses ${
        size}: let neighbouring lanes touch neighbouring elements.`;
  }
  return 'The lanes are scattered: let neighbouring lanes touch neighbouring elements.';
}

function explainShared(request) {
  if (request.ratio <= 1) {
    return 'Free of conflicts: no bank is asked for more than its share.';
  }
  const step = stepOf(request);
  const cure = step !== null && request.bytes === kWord ?
      ` Neighbouring lanes are ${Math.abs(step) / kWord} words apart. Were it an odd number, for ` +
          'instance because each row of the array has one element more, no two lanes would meet.' :
      '';
  const [bank, words] = busiest(request);
  return `Bank ${bank} is asked for ${words} different words and serves one at a time.${cure}`;
}

/// The bank that serves in the most wavefronts, and in how many.
function busiest(request) {
  const served = Array.from(
      {length: kBanks},
      (_, bank) => request.wavefronts.filter((banks) => banks[bank] !== null).length);
  const most = Math.max(...served);
  return [served.indexOf(most), most];
}

/// All of a request, for a tip.
function requestText(request) {
  const lanes = request.lanesAt.length;
  const moved = request.access.shared ? '' : usedText(request);
  return [
    accessName(request.access),
    `block ${request.block} · warp ${request.warp} · ${count(lanes, 'lane')} of ${
        count(request.bytes, 'byte')}`,
    `${costText(request, request.access)} (${times(request.ratio)})${moved}`,
  ].join('\n');
}

/// ": 128 of 1024 bytes moved are used"
function usedText(request) {
  const used = request.used.reduce((sum, [from, to]) => sum + to - from, 0);
  return `: ${used} of ${request.units * kSector} bytes moved are used`;
}
