// What the simulator found wrong, in words; the panels mark where.

function drawFindings(page) {
  const box = document.getElementById('findings');
  const {findings, error} = page.map;
  box.replaceChildren();
  box.hidden = findings.length === 0 && !error;
  if (error) {
    const why = findings.length === 0 ? `: ${error}` : '';
    add(box, 'p', `The call did not come to its end${why}. The map shows what came before.`);
  }
  for (const finding of findings) {
    const text = add(box, 'p');
    add(text, 'span', `✕ ${finding.number} `, 'mark');
    add(text, 'b', `${finding.mistake || finding.kind} in ${finding.kernel}: `);
    // The lines that begin with spaces are those of the parties, who get theirs with a button.
    text.append(finding.message.split('\n').filter((line) => !line.startsWith('  ')).join(' '));
    finding.parties.forEach((party) => addParty(page, box, finding, party));
  }
}

function addParty(page, box, finding, party) {
  const text = add(box, 'p', `${party.text} `, 'party');
  const launch = page.map.launches.find(({kernel}) => kernel === finding.kernel);
  const found = launch && placesOf(finding, launch).find((one) => one.party === party);
  if (found) {
    add(text, 'button', 'show').addEventListener('click', () => {
      page.open(launch);
      page.select(found.request, true);
    });
  }
}

/// "✕ 1" for each finding that has a part at that line.
function marksOf(page, line) {
  return page.map.findings
      .filter(
          ({parties}) => parties.some((party) => lineIn(page.map.source.name, party) === line))
      .map(({number}) => ` ✕ ${number}`)
      .join('');
}
