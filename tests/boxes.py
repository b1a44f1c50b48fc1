"""Boxes of what a page's charts have drawn, and what is wrong with them, for tests and scripts."""

# Every finding of the charts in a part of the page, as [chart, what is wrong, of what]. Boxes are
# those of the ink: of a word its capitals, less the room a line of text has above and below them.
FINDINGS = """(selector) => {
  const found = []
  const seen = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    !node.closest('[opacity="0"], [style*="opacity: 0;"]')
  const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
  const inset = ({ left, right, top, bottom }, x, y) =>
    ({ left: left + x, right: right - x, top: top + y, bottom: bottom - y })

  /** Whether a straight piece passes through a box. */
  function crosses([x0, y0, x1, y1], { left, right, top, bottom }) {
    let from = 0, to = 1
    for (const [p, q] of [[x0 - x1, x0 - left], [x1 - x0, right - x0], [y0 - y1, y0 - top], [y1 - y0, bottom - y0]]) {
      if (p === 0) { if (q < 0) return false; continue }
      if (p < 0) from = Math.max(from, q / p)
      else to = Math.min(to, q / p)
    }
    return from < to
  }

  for (const svg of document.querySelectorAll(`${selector} svg.marks`)) {
    if (!seen(svg)) continue
    const whole = svg.getBoundingClientRect()
    const host = svg.closest('[class*=st-key-chart-], figure, [data-testid=stVegaLiteChart]')
    const chart = [...(host?.classList ?? [])].find((name) => name.startsWith('st-key-chart-'))
      ?.replace('st-key-chart-', '') ?? 'chart'
    const say = (wrong, ...what) => found.push([chart, wrong, what.join(' | ')])
    const frames = [...svg.querySelectorAll('.role-frame > g > path.background, .role-scope > g > path.background')]
      .map((each) => each.getBoundingClientRect()).filter(({ width, height }) => width > 1 && height > 1)
    const inPlot = (x, y) => frames.some((f) => x >= f.left - 1 && x <= f.right + 1 && y >= f.top - 1 && y <= f.bottom + 1)

    const words = []
    for (const node of svg.querySelectorAll('text')) {
      const text = node.textContent.trim()
      if (!text || !seen(node)) continue
      const box = node.getBoundingClientRect(), size = parseFloat(getComputedStyle(node).fontSize)
      const upright = Math.abs(node.getScreenCTM().b) < 0.1
      const slack = Math.min(0.22 * size, (upright ? box.height : box.width) / 4)
      const ink = upright ? inset(box, 0, slack) : inset(box, slack, 0)
      if (words.some((other) => other.text === text && Math.abs(other.left - ink.left) < 1 && Math.abs(other.top - ink.top) < 1)) continue
      const role = node.closest('[class*=role-axis], [class*=role-legend], [class*=role-title]') ? 'guide' : 'mark'
      words.push({ text, role, ...ink })
      if (text.includes('…')) say('cut short', text)
      if (box.left < whole.left - 2 || box.right > whole.right + 2 || ink.top < whole.top - 2 || ink.bottom > whole.bottom + 2) say('cut at the edge', text)
      if (box.left < -1 || box.right > document.documentElement.clientWidth + 1) say('off the page', text)
    }
    words.forEach((word, at) => {
      for (const other of words.slice(0, at)) if (meets(word, inset(other, 0.5, 0.5))) say('word on word', word.text, other.text)
    })

    const dots = []
    for (const node of svg.querySelectorAll('.mark-symbol.role-mark path')) {
      const box = node.getBoundingClientRect()
      if (box.width < 2 || !seen(node) || !inPlot((box.left + box.right) / 2, (box.top + box.bottom) / 2)) continue
      dots.push(inset(box, 1, 1))
    }
    const pieces = []
    for (const node of svg.querySelectorAll('.mark-line path, .mark-trail path')) {
      if (!seen(node)) continue
      const m = node.getScreenCTM()
      let from = null
      for (const [, kind, numbers] of (node.getAttribute('d') ?? '').matchAll(/([MLHVZ])([^MLHVZ]*)/g)) {
        const given = numbers.trim().split(/[\\s,]+/).map(Number)
        if (kind === 'Z') continue
        const at = kind === 'H' ? [given[0], from[3]] : kind === 'V' ? [from[2], given[0]] : given
        const to = [m.a * at[0] + m.e, m.d * at[1] + m.f, at[0], at[1]]
        if (kind !== 'M' && from) pieces.push({ piece: [from[0], from[1], to[0], to[1]], what: 'line' })
        from = to
      }
    }
    for (const node of svg.querySelectorAll('.mark-rule.role-mark line')) {
      if (!seen(node)) continue
      const b = node.getBoundingClientRect()
      pieces.push({ piece: [b.left, b.top, b.right, b.bottom], what: 'rule' })
    }
    for (const word of words.filter(({ role }) => role === 'mark')) {
      const middle = [(word.left + word.right) / 2, (word.top + word.bottom) / 2]
      if (!inPlot(...middle)) { say('off the plot', word.text); continue }
      if (dots.some((dot) => meets(word, dot))) say('word on dot', word.text)
      for (const what of ['line', 'rule']) {
        if (pieces.some((each) => each.what === what && crosses(each.piece, inset(word, 1, 1)))) say(`word on ${what}`, word.text)
      }
    }

    const filled = new Set()
    for (const node of svg.querySelectorAll('.role-mark path, .role-mark line')) {
      const { width, height } = node.getBoundingClientRect()
      if (!seen(node) || Math.max(width, height) < 0.3) continue
      for (const name of ['fill', 'stroke']) filled.add(getComputedStyle(node)[name])
    }
    for (const legend of svg.querySelectorAll('.role-legend')) {
      const box = legend.getBoundingClientRect()
      for (const symbol of legend.querySelectorAll('.role-legend-symbol path')) {
        const style = getComputedStyle(symbol), name = symbol.closest('.role-scope')?.textContent ?? ''
        if (![style.fill, style.stroke].some((each) => each !== 'none' && each !== 'rgba(0, 0, 0, 0)' && filled.has(each))) say('legend of what is absent', name)
      }
      const lowest = Math.max(...words.filter(({ top }) => top < box.top).map(({ bottom }) => bottom), ...frames.map(({ bottom }) => bottom))
      if (box.top - lowest > 40) say('legend far from its chart', Math.round(box.top - lowest))
    }
    const room = (svg.closest('.plot') ?? svg.closest('[data-testid=stVegaLiteChart]'))?.clientWidth
    if (room && whole.width < 0.9 * room) say('width unused', `${Math.round(whole.width)} of ${room}`)
  }
  return found
}"""
