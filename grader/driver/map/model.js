// From the data of one call to what is drawn: for each request which bytes its lanes use, which
// sectors those lie in, or which banks serve them. The numbers of sectors and wavefronts are the
// simulator's; nothing here judges.

const kSector = 32;  // bytes that global memory moves at least
const kLine = 128;   // bytes of a cache line: four sectors
const kBanks = 32;   // of shared memory
const kWord = 4;     // bytes that a bank serves at a time

/// Adds to each request what it takes to draw it.
function prepare(map) {
  map.launches.forEach((launch, number) => {
    launch.number = number;
    launch.lines.forEach((access, index) => prepareAccess(access, index));
    launch.requests.sort(byTime);
    launch.requests.forEach((request) => prepareRequest(request, launch));
    launch.buffers = buffersOf(launch);
    launch.blocks = sorted(new Set(launch.requests.map((request) => request.block)));
    launch.warps = sorted(new Set(launch.requests.map((request) => request.warp)));
  });
  map.findings.forEach((finding, index) => {
    finding.number = index + 1;
  });
  return map;
}

/// One block after the other; within a block the warps in step, each with its first request, then
/// each with its second. On a GPU they are in some such order, which nobody knows.
function byTime(a, b) {
  return a.block - b.block || a.step - b.step || a.warp - b.warp;
}

/// The line of that file where an access or a party is; of one in a given header, the line that led
/// there. 0 if it is in another file.
function lineIn(name, place) {
  return place.file === name ? place.line : place.caller_file === name ? place.called_from : 0;
}

function sorted(numbers) {
  return [...numbers].sort((a, b) => a - b);
}

function prepareAccess(access, index) {
  access.index = index;
  access.shared = access.space === 'shared';
  access.ratio = ratio(access);
}

function prepareRequest(request, launch) {
  request.access = launch.lines[request.line];
  request.ratio = ratio(request);
  request.lanesAt =
      activeLanes(request.lanes).map((lane, i) => ({lane, offset: request.offsets[i]}));
  if (request.access.shared) {
    request.wavefronts = wavefrontsOf(request);
  } else {
    request.used = merged(request.lanesAt.map(({offset}) => [offset, offset + request.bytes]));
    request.moved = merged(request.used.map(
        ([from, to]) => [kSector * Math.floor(from / kSector), kSector * Math.ceil(to / kSector)]));
  }
}

/// How many times the least.
function ratio(cost) {
  return cost.least_units > 0 ? cost.units / cost.least_units : 1;
}

function activeLanes(mask) {
  return Array.from({length: 32}, (_, lane) => lane).filter((lane) => (mask >>> lane) & 1);
}

/// Ranges [from, to) that touch or overlap, made one; in order.
function merged(ranges) {
  const result = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = result[result.length - 1];
    if (last && from <= last[1]) {
      last[1] = Math.max(last[1], to);
    } else {
      result.push([from, to]);
    }
  }
  return result;
}

/// The wavefronts of a request to shared memory: for each its 32 banks, and for each of these the
/// word that it serves and the lanes that want it, or null. Accesses of 8 bytes are served to half
/// a warp at a time, of 16 to a quarter. The variable's start counts as bank 0: where it lies does
/// not change which lanes meet in a bank.
function wavefrontsOf(request) {
  const lanesAtOnce = request.bytes <= 4 ? 32 : request.bytes <= 8 ? 16 : 8;
  const wavefronts = [];
  for (let first = 0; first < 32; first += lanesAtOnce) {
    const banks = banksOf(
        request.lanesAt.filter(({lane}) => lane >= first && lane < first + lanesAtOnce),
        request.bytes);
    const most = Math.max(...banks.map((words) => words.length));
    for (let row = 0; row < most; ++row) {
      wavefronts.push(banks.map((words) => words[row] || null));
    }
  }
  return wavefronts;
}

/// For each bank the words that some lanes want of it, each with those lanes.
function banksOf(lanesAt, bytes) {
  const banks = Array.from({length: kBanks}, () => new Map());
  for (const {lane, offset} of lanesAt) {
    const last = Math.floor((offset + bytes - 1) / kWord);
    for (let word = Math.floor(offset / kWord); word <= last; ++word) {
      const bank = banks[word % kBanks];
      bank.set(word, [...(bank.get(word) || []), lane]);
    }
  }
  return banks.map((words) => [...words].map(([word, lanes]) => ({word, lanes})));
}

/// The buffers in the order in which they are first used, each with its requests and accesses.
function buffersOf(launch) {
  const buffers = new Map();
  for (const request of launch.requests) {
    const access = request.access;
    const key = access.space + ' ' + access.buffer;
    if (!buffers.has(key)) {
      const {buffer, space, shared} = access;
      buffers.set(key, {name: buffer, space, shared, requests: []});
    }
    buffers.get(key).requests.push(request);
  }
  return [...buffers.values()].sort((a, b) => a.shared - b.shared);
}

/// What the call, all launches together, asks of its tensors and of other global memory, which is
/// scratch or the student's own: {name, tensor, read, write, atomic}, the last three in bytes.
/// Those that lanes of one request share count once.
function passesOf(map) {
  const lines = map.launches.flatMap((launch) => launch.lines);
  const global = lines.filter(({space}) => space === 'global');
  const tensors = map.buffers.filter(({is_input, is_output}) => is_input || is_output);
  const names = [...tensors.map(({name}) => name), ...global.map(({buffer}) => buffer)];
  return [...new Set(names)].map((name) => {
    const bytes = (wanted) => total(
        global.filter(({buffer, type}) => buffer === name && type === wanted)).bytes;
    const tensor = tensors.find((buffer) => buffer.name === name);
    return {name, tensor, read: bytes('read'), write: bytes('write'), atomic: bytes('atomic')};
  });
}

function tensorBytes({rows, cols, element_bytes}) {
  return rows * cols * element_bytes;
}

/// The sum of what some requests or accesses cost.
function total(costs) {
  const sum = {requests: 0, bytes: 0, units: 0, least_units: 0};
  for (const cost of costs) {
    sum.requests += cost.requests === undefined ? 1 : cost.requests;
    sum.bytes += cost.bytes;
    sum.units += cost.units;
    sum.least_units += cost.least_units;
  }
  sum.ratio = ratio(sum);
  return sum;
}

/// The number of a block in its grid, x fastest.
function blockNumber([x, y, z], [width, height]) {
  return x + width * (y + height * z);
}

// ---- findings -----------------------------------------------------------------------------------

/// Where in the map a finding's parties are: for each party the request it made, and at which byte.
/// A party whose request was not traced (one that was refused, for instance) has no place.
function placesOf(finding, launch) {
  if (finding.kernel !== launch.kernel) {
    return [];
  }
  const candidates = finding.parties.map((party) => requestsOf(party, finding, launch));
  if (candidates.length === 2) {
    const meeting = meetingPlace(candidates[0], candidates[1]);
    if (meeting) {
      return meeting;
    }
  }
  return candidates.filter((list) => list.length > 0).map((list) => list[list.length - 1]);
}

function requestsOf(party, finding, launch) {
  const block = blockNumber(party.block, launch.grid);
  return launch.requests
      .filter(
          (request) => request.access.file === party.file && request.access.line === party.line &&
              request.warp === party.warp && request.block === block &&
              (request.lanes >>> party.lane) & 1 &&
              (!finding.buffer || request.access.buffer === finding.buffer))
      .map((request) => ({
             request,
             party,
             offset: request.lanesAt.find(({lane}) => lane === party.lane).offset,
           }));
}

/// The last two that touch the same bytes.
function meetingPlace(firsts, seconds) {
  for (let i = firsts.length - 1; i >= 0; --i) {
    for (let j = seconds.length - 1; j >= 0; --j) {
      const [a, b] = [firsts[i], seconds[j]];
      if (a.request !== b.request && a.offset < b.offset + b.request.bytes &&
          b.offset < a.offset + a.request.bytes) {
        return [a, b];
      }
    }
  }
  return null;
}
