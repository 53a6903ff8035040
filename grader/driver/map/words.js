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

/// "forward.cu:41 reads x"
function accessName(access) {
  const place = access.line > 0 ? `${fileName(access.file)}:${access.line}` : 'unknown line';
  return `${place} ${kVerbs[access.type]} ${access.buffer}`;
}

/// "32 sectors where 4 would do"
function costText(cost, access) {
  const units = count(cost.units, unitOf(access));
  return cost.units > cost.least_units ? `${units} where ${cost.least_units} would do` :
                                         `${units}, no more than needed`;
}

/// ", each read 2.0 times": what a second pass over a buffer of global memory costs.
function againText(requests) {
  const told =
      [['read', 'read'], ['write', 'written'], ['atomic', 'updated']].map(([type, verb]) => {
        const again = timesMoved(requests.filter(({access}) => access.type === type));
        return again > 1 ? `, each ${verb} ${again.toFixed(1)} times` : '';
      });
  return told.join('');
}

/// How often the requests move each sector that they move, on average.
function timesMoved(requests) {
  const sectors = new Set();
  let moved = 0;
  for (const request of requests) {
    for (const [from, to] of request.moved || []) {
      for (let byte = from; byte < to; byte += kSector) {
        sectors.add(byte);
        ++moved;
      }
    }
  }
  return moved / Math.max(1, sectors.size);
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
