// Every finding of the charts in a part of the page, as [chart, what is wrong, of what]: words on
// words, on lines, on dots, cut off; legends of what is absent, or far away; width left unused.
// Boxes are those of the ink: of a word, less the room that a line of text has above and below.
(selector) => {
  const found = []
  const seen = (node) =>
    node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    !node.closest('[opacity="0"], [style*="opacity: 0;"]')
  const meets = (a, b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
  const near = (a, b) => Math.abs(a - b) < 1
  const inset = ({ left, right, top, bottom }, x, y) =>
    ({ left: left + x, right: right - x, top: top + y, bottom: bottom - y })

  /** Whether a straight piece passes through a box. */
  function crosses([x0, y0, x1, y1], { left, right, top, bottom }) {
    let from = 0, to = 1
    const sides = [[x0 - x1, x0 - left], [x1 - x0, right - x0], [y0 - y1, y0 - top], [y1 - y0, bottom - y0]]
    for (const [p, q] of sides) {
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
    const frames = [...svg.querySelectorAll('.role-frame > g > path.background')]
      .map((each) => each.getBoundingClientRect())
      .filter(({ width, height }) => width > 1 && height > 1)
    const inPlot = (x, y, above = 1) =>
      frames.some((f) => x >= f.left - 1 && x <= f.right + 1 && y >= f.top - above && y <= f.bottom + 1)

    const words = []
    for (const node of svg.querySelectorAll('text')) {
      const text = node.textContent.trim()
      if (!text || !seen(node)) continue
      const box = node.getBoundingClientRect(), size = parseFloat(getComputedStyle(node).fontSize)
      const upright = Math.abs(node.getScreenCTM().b) < 0.1
      const slack = Math.min(0.22 * size, (upright ? box.height : box.width) / 4)
      const ink = upright ? inset(box, 0, slack) : inset(box, slack, 0)
      // A halo is the same word once more.
      const same = (other) => other.text === text && near(other.left, ink.left) && near(other.top, ink.top)
      if (words.some(same)) continue
      const guide = node.closest('[class*=role-axis], [class*=role-legend], [class*=role-title]')
      const { a, b } = node.getScreenCTM()
      const slanted = Math.abs(a) > 0.1 && Math.abs(b) > 0.1 // its box is larger than its ink
      words.push({ text, slanted, guide: Boolean(guide), ...ink })
      if (text.includes('…')) say('cut short', text)
      const across = box.left < whole.left - 2 || box.right > whole.right + 2
      if (across || ink.top < whole.top - 2 || ink.bottom > whole.bottom + 2) say('cut at the edge', text)
      const screen = document.documentElement.clientWidth
      if (box.left < -1 || box.right > screen + 1) say('off the page', text)
    }
    words.forEach((word, at) => {
      for (const other of words.slice(0, at)) {
        if (word.slanted && other.slanted) continue
        if (meets(word, inset(other, 0.5, 0.5))) say('word on word', word.text, other.text)
      }
    })

    const dots = []
    for (const node of svg.querySelectorAll('.mark-symbol.role-mark path')) {
      const box = node.getBoundingClientRect()
      const middle = [(box.left + box.right) / 2, (box.top + box.bottom) / 2]
      if (box.width < 2 || !seen(node) || !inPlot(...middle)) continue
      dots.push(inset(box, 1, 1))
    }
    const pieces = []
    for (const node of svg.querySelectorAll('.mark-line path, .mark-trail path')) {
      if (!seen(node)) continue
      const m = node.getScreenCTM()
      let from = null
      const steps = (node.getAttribute('d') ?? '').matchAll(/([MLHVZ])([^MLHVZ]*)/g)
      for (const [, kind, numbers] of steps) {
        const given = numbers.trim().split(/[\s,]+/).map(Number)
        if (kind === 'Z') continue
        const at = kind === 'H' ? [given[0], from[3]] : kind === 'V' ? [from[2], given[0]] : given
        const to = [m.a * at[0] + m.e, m.d * at[1] + m.f, at[0], at[1]]
        if (kind !== 'M' && from) pieces.push({ piece: [...from.slice(0, 2), ...to.slice(0, 2)], what: 'line' })
        from = to
      }
    }
    for (const node of svg.querySelectorAll('.mark-rule.role-mark line')) {
      if (!seen(node)) continue
      const b = node.getBoundingClientRect()
      pieces.push({ piece: [b.left, b.top, b.right, b.bottom], what: 'rule' })
    }
    for (const word of words.filter(({ guide }) => !guide)) {
      const middle = [(word.left + word.right) / 2, (word.top + word.bottom) / 2]
      if (!inPlot(...middle, 16)) { say('off the plot', word.text); continue }
      if (dots.some((dot) => meets(word, dot))) say('word on dot', word.text)
      for (const what of ['line', 'rule']) {
        const touched = pieces.some((each) => each.what === what && crosses(each.piece, inset(word, 1, 1)))
        if (touched) say(`word on ${what}`, word.text)
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
        const { fill, stroke } = getComputedStyle(symbol)
        const name = symbol.closest('.role-scope')?.textContent ?? ''
        const there = [fill, stroke].some((each) => !['none', 'rgba(0, 0, 0, 0)'].includes(each) && filled.has(each))
        if (!there) say('legend of what is absent', name)
      }
      const above = [...words, ...frames].filter(({ top }) => top < box.top).map(({ bottom }) => bottom)
      const lowest = Math.max(...above)
      if (box.top - lowest > 40) say('legend far from its chart', Math.round(box.top - lowest))
    }
    const room = svg.closest('.plot, [data-testid=stVegaLiteChart]')?.clientWidth
    if (room && whole.width < 0.9 * room) say('width unused', `${Math.round(whole.width)} of ${room}`)
  }
  return found
}
