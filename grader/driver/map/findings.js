// What the simulator found wrong, in words; the panels mark where.

function drawFindings(page) {
  const box = document.getElementById('findings');
  const {findings, error} = page.map;
  box.replaceChildren();
  box.hidden = findings.length === 0 && !error;
  if (error) {
    add(box, 'p', `The call did not come to its end. ${error} The map shows what came before.`);
  }
  for (const finding of findings) {
    const text = add(box, 'p');
    add(text, 'span', `✕ ${finding.number} `, 'mark');
    add(text, 'b', `${finding.kind} in ${finding.kernel}: `);
    text.append(finding.message.replace(/\n/g, ' '));
    const parties = add(box, 'p', '', 'party');
    finding.parties.forEach((party) => addParty(page, parties, finding, party));
  }
}

function addParty(page, box, finding, party) {
  const launch = page.map.launches.find(({kernel}) => kernel === finding.kernel);
  const place = party.line > 0 ? `${fileName(party.file)}:${party.line} ` : '';
  const block = launch ? blockNumber(party.block, launch.grid) : party.block.join(', ');
  const text = add(box, 'span');
  text.append(`${place}block ${block}, warp ${party.warp}, lane ${party.lane} ${party.action} `);
  const found = launch && placesOf(finding, launch).find((one) => one.party === party);
  if (found) {
    add(text, 'button', 'show').addEventListener('click', () => {
      page.open(launch);
      page.select(found.request, true);
    });
  }
}
