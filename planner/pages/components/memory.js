// One memory served two ways, tick by tick: which blocks are held, by whom, and how full they are.
//
// data: lanes of a name, changes (for each tick the blocks that differ: block, owner, tokens, state)
// and counts (running, waiting, finished); blocks; places, tokens of a block; states by their code;
// tick, where it stands; parameter, what is set.

const [USED, RESERVED, PREFIX, LEAKED] = [1, 2, 3, 4]
const drawn = new WeakMap()

export default function ({ data, parentElement, setStateValue }) {
  const place = parentElement.querySelector(".memories")
  place.classList.toggle("presenting", data.presenting)
  const key = JSON.stringify([data.lanes, data.blocks])
  if (drawn.get(parentElement)?.key !== key) {
    drawn.set(parentElement, { key, lanes: data.lanes.map((lane) => build(lane, data.blocks)) })
    place.replaceChildren(...drawn.get(parentElement).lanes.map(({ section }) => section))
    legend(parentElement.querySelector(".legend"), data.states)
  }
  const { lanes } = drawn.get(parentElement)
  const last = data.lanes[0].changes.length - 1

  const show = (position) => {
    const tick = Math.min(Math.floor(position + 1e-9), last)
    for (const lane of lanes) {
      const pictures = lane.until(tick)
      lane.cells.forEach((cell, block) => fill(cell, pictures[block], data.places))
      const [running, waiting, finished] = lane.counts[tick]
      lane.said.textContent = `${running} running, ${waiting} waiting, ${finished} finished`
    }
  }
  return transport(parentElement, {
    stops: [...Array(last + 1).keys()],
    at: data.tick,
    perSecond: 6,
    name: (position) => `Tick ${Math.floor(position + 1e-9)}`,
    show,
    settled: (position) => {
      const tick = Math.round(position)
      if (tick !== data.tick) setStateValue("value", `${data.parameter}=${tick}@${Date.now()}`)
    },
  })
}

function build({ name, changes, counts }, blocks) {
  const section = document.createElement("section")
  const title = document.createElement("h3")
  title.textContent = name
  const grid = document.createElement("div")
  grid.className = "blocks"
  const cells = [...Array(blocks)].map(() => {
    const block = document.createElement("div")
    block.append(document.createElement("i"), document.createElement("span"))
    return block
  })
  grid.append(...cells)
  const said = document.createElement("p")
  said.className = "counts"
  section.append(title, grid, said)
  let at = -1
  let now = []
  const until = (tick) => {
    if (tick < at || at < 0) {
      at = -1
      now = Array(blocks).fill([0, 0, 0])
    }
    while (at < tick) {
      at += 1
      for (const [block, owner, tokens, state] of changes[at]) now[block] = [owner, tokens, state]
    }
    return now
  }
  return { section, cells, said, counts, until }
}

function fill(block, [owner, tokens, state], places) {
  const full = state === LEAKED ? places : tokens
  const dark = full > places / 2
  block.className = `block${state ? " held" : ""}${state === PREFIX ? " prefix" : ""}${state === LEAKED ? " leaked" : ""}${dark ? " dark" : ""}`
  block.firstChild.style.height = `${(100 * full) / places}%`
  block.lastChild.textContent = state === LEAKED ? "×" : state === PREFIX ? "S" : state === USED || state === RESERVED ? owner : ""
}

function legend(place, states) {
  const colours = { [USED]: "#E69F00", [PREFIX]: "#F3CC7F", [LEAKED]: "#8A8F98", [RESERVED]: "transparent" }
  place.replaceChildren(
    ...Object.entries(colours).map(([code, colour]) => {
      const said = document.createElement("span")
      const key = document.createElement("i")
      key.style.background = colour
      said.append(key, states[code])
      return said
    }),
  )
}
