// The painter of shared memory: its 32 banks from left to right; a request is as high as it takes
// wavefronts. A bank that serves a word in a wavefront is solid, one that idles meanwhile is
// shaded.

const kMostBankWidth = 24;

class SharedPainter {
  fit() {}

  height(request) {
    return request.wavefronts.length;
  }

  bankWidth(panel) {
    return Math.min(kMostBankWidth, (panel.width - kGutter) / kBanks);
  }

  x(panel, request, offset) {
    const bank = ((Math.floor(offset / kWord) % kBanks) + kBanks) % kBanks;
    return kGutter + (bank + 0.5) * this.bankWidth(panel);
  }

  lane(panel, request, x, y) {
    const banks = request.wavefronts[Math.floor(y * request.wavefronts.length)];
    const word = banks && banks[Math.floor((x - kGutter) / this.bankWidth(panel))];
    return word ? request.lanesAt.find(({lane}) => lane === word.lanes[0]) : null;
  }

  axis(context, panel) {
    context.fillStyle = panel.style.faint;
    context.fillText('bank', 3, 18);
    for (let bank = 0; bank < kBanks; ++bank) {
      const text = String(bank);
      const x = kGutter + (bank + 0.5) * this.bankWidth(panel);
      context.fillText(text, x - 3 * text.length, 18);
    }
  }

  grid(context, panel, height) {
    for (let bank = 0; bank <= kBanks; ++bank) {
      gridLine(context, kGutter + bank * this.bankWidth(panel), height, panel.style.grid);
    }
  }

  paint(context, panel, request, y, height) {
    const width = this.bankWidth(panel);
    const row = height / request.wavefronts.length;
    const alpha = context.globalAlpha;
    context.fillStyle = panel.style.ratios[grade(request.ratio)];
    context.globalAlpha = alpha * panel.style.shade;
    context.fillRect(kGutter, y, kBanks * width, height - 1);
    context.globalAlpha = alpha;
    request.wavefronts.forEach((banks, i) => banks.forEach((word, bank) => {
      if (word) {
        const x = kGutter + bank * width + 0.5;
        context.fillRect(x, y + i * row, width - 1, row - 0.5);
        frame(context, panel, request, x, y + i * row, width - 1, row - 1);
      }
    }));
  }
}
