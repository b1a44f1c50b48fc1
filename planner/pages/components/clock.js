// Prefill and decode on one time axis: what comes from memory, what is computed, which tokens come.
//
// data: total, in seconds; slow, how many times slower it plays; requests, drawn, and more, not
// drawn; prompt: its tokens and those cached; beats: name, start, end, time, says, busy and the
// parts of memory and compute, each with kind, start, end and label.

const drawn = new WeakMap()
const NAMES = { weights: "weights", cache: "caches", compute: "arithmetic" }

export default function ({ data, parentElement }) {
  parentElement.querySelector(".scene").classList.toggle("presenting", data.presenting)
  const { presenting, ...rest } = data
  const key = JSON.stringify(rest)
  if (drawn.get(parentElement)?.key !== key) {
    const before = plays.get(parentElement)
    if (before) Object.assign(before, { position: data.total, server: data.total, playing: false, run: before.run + 1 })
    drawn.set(parentElement, { key, ...build(parentElement, data) })
  }
  const { parts, heads, beats, requests, says } = drawn.get(parentElement)

  const show = (time) => {
    for (const { fill, start, end } of parts) {
      fill.style.width = `${100 * Math.min(Math.max((time - start) / (end - start), 0), 1)}%`
    }
    for (const head of heads) head.style.left = `${(100 * time) / data.total}%`
    const at = data.beats.findLastIndex(({ start }) => time >= start)
    beats.forEach((beat, number) => beat.classList.toggle("now", number === at))
    const now = data.beats[at]
    says.textContent = `${now.name}, ${now.time}: ${now.says}. Arithmetic is busy ${now.busy} of the time.`
    const prefill = Math.min(time / data.beats[0].end, 1)
    const tokens = data.beats.filter(({ end }) => time >= end - 1e-12).length
    requests.forEach(({ read, fresh, texts }, number) => {
      if (number === 0) read.style.width = `${100 * prefill * fresh}%`
      // The first token comes with the end of the prefill; the others decode already.
      const count = number === 0 ? tokens : Math.max(tokens - 1, 0)
      texts.forEach((text, place) => (text.hidden = place >= count))
    })
  }
  return transport(parentElement, {
    stops: [0, ...data.beats.map(({ end }) => end)],
    at: data.total,
    perSecond: 1 / data.slow,
    name: (time) => `${(1000 * time).toPrecision(3)} ms, ${Math.round(data.slow).toLocaleString("en-US")} times slower`,
    show,
  })
}

function build(parentElement, data) {
  const make = (kind, className, text = "") => {
    const made = document.createElement(kind)
    made.className = className
    made.textContent = text
    return made
  }
  const parts = []
  const heads = []
  const span = (element, start, end) => {
    element.style.left = `${(100 * start) / data.total}%`
    element.style.width = `${(100 * (end - start)) / data.total}%`
    return element
  }
  const track = (name, kinds) => {
    const label = make("span", "")
    label.append(name)
    const line = make("div", "track")
    for (const beat of data.beats) {
      for (const part of beat[name === "Memory" ? "memory" : "compute"]) {
        const box = span(make("div", `part ${part.kind}`), part.start, part.end)
        const fill = make("i", "")
        box.append(fill)
        line.append(box)
        parts.push({ fill, start: part.start, end: part.end })
      }
    }
    const head = make("div", "head")
    heads.push(head)
    line.append(head)
    label.append(...kinds.map((kind) => {
      const said = make("div", "")
      said.append(make("span", `key ${kind}`), NAMES[kind])
      return said
    }))
    return [label, line]
  }
  const beatLine = make("div", "track beats")
  const beats = data.beats.map((beat) => span(make("span", "beat", beat.name), beat.start, beat.end))
  beatLine.append(...beats)
  parentElement.querySelector(".tracks").replaceChildren(
    ...track("Memory", ["weights", "cache"]), ...track("Arithmetic", ["compute"]), make("span", ""), beatLine)

  const fresh = 1 - data.prompt.cached / data.prompt.tokens
  const requests = [...Array(data.requests).keys()].map((number) => {
    const line = make("div", "request")
    const prompt = make("div", "prompt")
    const cached = make("div", "cached")
    const read = make("div", "read")
    cached.style.width = `${100 * (number === 0 ? 1 - fresh : 1)}%`
    prompt.append(cached, read)
    const tokens = make("div", "tokens")
    const texts = data.beats.map(() => make("i", ""))
    tokens.append(...texts)
    line.append(make("span", "", `Request ${number + 1}`), prompt, tokens)
    return { line, read, fresh, texts }
  })
  const place = parentElement.querySelector(".requests")
  place.replaceChildren(...requests.map(({ line }) => line))
  if (data.more) place.append(make("span", "", `and ${data.more.toLocaleString("en-US")} more`))
  return { parts, heads, beats, requests, says: parentElement.querySelector(".says") }
}
