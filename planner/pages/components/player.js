// A token after another: its query goes along the keys and is gone, its key and value drop into the
// rack. The lane without a cache has no rack and computes every pair again.
//
// data: words; lanes, their names; steps: for each tokens, and per lane keys (a state for each token
// as `stored` names it), computed and read so far; step: where it stands; parameter: what is set.

const LOOK = [0.2, 0.75] // the part of a step in which the query looks at the keys
const KINDS = { "computed now": "new", "computed again": "again", "read from the cache": "kept" }
const drawn = new WeakMap()

export default function ({ data, parentElement, setStateValue }) {
  const place = parentElement.querySelector(".lanes")
  place.classList.toggle("presenting", data.presenting)
  const key = JSON.stringify([data.words, data.lanes])
  if (drawn.get(parentElement)?.key !== key) {
    const lanes = data.lanes.map((name) => lane(name, data.words))
    place.replaceChildren(...lanes.map(({ section }) => section))
    drawn.set(parentElement, { key, lanes })
  }
  const { lanes } = drawn.get(parentElement)
  const last = data.steps.length

  const show = (position) => {
    const at = Math.min(Math.ceil(position), last) // the step under way, from 1; 0 before the first
    const part = at ? position - (at - 1) : 0
    lanes.forEach((each, number) => {
      const now = data.steps[at - 1]
      const before = data.steps[at - 2]
      draw(each, now?.lanes[number], before?.lanes[number], now?.tokens ?? 0, before?.tokens ?? 0, part)
    })
  }
  return transport(parentElement, {
    stops: [...Array(last + 1).keys()],
    at: data.step,
    perSecond: 0.45,
    name: (position) => (position < 1 ? "Step 0" : `Step ${Math.ceil(position)} of ${last}`),
    show,
    settled: (position) => {
      const step = Math.max(1, Math.round(position))
      if (step !== data.step) setStateValue("value", `${data.parameter}=${step}@${Date.now()}`)
    },
  })
}

function draw({ words, keys, values, query, count }, now, before, tokens, old, part) {
  const cached = Boolean(now?.keys.includes("read from the cache")) || (now && !now.keys.includes("computed again"))
  const done = part >= 1
  const looking = !done && part >= LOOK[0] && part < LOOK[1]
  const along = Math.min(Math.floor(((part - LOOK[0]) / (LOOK[1] - LOOK[0])) * tokens), tokens - 1)
  words.forEach((word, at) => {
    word.classList.toggle("absent", at >= tokens)
    word.classList.toggle("newest", at >= old && at < tokens)
  })
  for (const cells of [keys, values]) {
    cells.forEach((cell, at) => {
      let kind = "empty"
      if (now && at < tokens) {
        const there = done || (cached && at < old) || (cached ? part >= LOOK[1] : part * tokens > at)
        if (there) kind = KINDS[now.keys[at]]
      }
      const drops = cached && !done && at >= old && kind === "new"
      cell.className = `cell ${kind}${looking && at === along && cells === keys ? " looked" : ""}`
      cell.textContent = kind === "new" ? "+" : kind === "again" ? "↻" : ""
      cell.style.transform = drops ? `translateY(${-1.5 * (1 - (part - LOOK[1]) / (1 - LOOK[1]))}rem)` : ""
    })
  }
  query.hidden = !now
  query.classList.toggle("gone", done || part >= LOOK[1])
  query.style.gridColumn = 2 + (looking ? along : Math.max(tokens - 1, 0))
  query.textContent = done || part >= LOOK[1] ? "used" : "q"
  const raced = (name) => {
    const start = before?.[name] ?? 0
    return Math.floor(start + ((now?.[name] ?? 0) - start) * Math.min(part, 1))
  }
  count.replaceChildren(strong(raced("computed")), " pairs computed so far, ", strong(raced("read")), " read")
}

function strong(number) {
  const part = document.createElement("b")
  part.textContent = number.toLocaleString("en-US")
  return part
}

function lane(name, words) {
  const section = document.createElement("section")
  const element = (kind, className, text = "") => {
    const made = document.createElement(kind)
    made.className = className
    made.textContent = text
    return made
  }
  const rack = element("div", "rack")
  rack.style.setProperty("--words", words.length)
  const row = (title, make) => {
    rack.append(element("span", "name", title))
    const cells = words.map(make)
    rack.append(...cells)
    return cells
  }
  const shown = row("", (word) => element("span", "word", word))
  rack.append(element("span", "name", "query"))
  const query = element("span", "query", "q")
  rack.append(query)
  rack.lastChild.previousSibling.style.gridRow = 2
  const keys = row("key", () => element("span", "cell empty"))
  const values = row("value", () => element("span", "cell empty"))
  const place = (cells, line) => cells.forEach((cell, at) => Object.assign(cell.style, { gridRow: line, gridColumn: at + 2 }))
  place(shown, 1)
  place(keys, 3)
  place(values, 4)
  const titles = [...rack.querySelectorAll(".name")]
  titles.forEach((title, at) => Object.assign(title.style, { gridRow: at + 1, gridColumn: 1 }))
  const count = element("p", "count")
  section.append(element("h3", "", name), rack, count)
  return { section, words: shown, keys, values, query, count }
}
