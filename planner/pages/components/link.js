// Keeps the address bar equal to the state and copies it. Each settled change is an entry of the
// history of its own, so that Back undoes it; the stops of a drag are one change.
//
// The plan is the link, so it outlives the server: when a page that is open meets a new session (a
// restart, another instance), what it last showed under an address is given back to that session.
//
// data: query, the state; session, which one the server holds; given, whether it came by a link;
// page, its name; steps, whether its changes make history; returned, the last entry gone back to that
// the server has taken.

const PAUSE_MS = 1000 // of the hand; what it changes of one input without a pause is one change
const PATIENCE_MS = 3000 // then an entry that was gone back to is asked for again, twice as late each time
const papers = new WeakMap()
let session
let shown = new Map()
let lost = new Map()
let newest = null // the component as it was last rendered
let entry = {} // of the history: its path and page, the parameters it changed, and by which stroke
let patience = PATIENCE_MS
let returns = 0 // how often one went back or forward
let returning = null // an entry that was gone back to and is not shown yet

// The hand's strokes, counted: one lasts while a button or key is down, and over short pauses.
let stroke = 0
let touched = 0
let down = false
const touch = ({ type }) => {
  if (type === "pointermove" && !down) return
  if (!down && Date.now() - touched > PAUSE_MS) stroke += 1
  touched = Date.now()
  if (type !== "pointermove") down = type.endsWith("down")
}
for (const type of ["pointerdown", "pointermove", "pointerup", "pointercancel", "keydown", "keyup"])
  addEventListener(type, touch, { capture: true, passive: true })

/** Whether a page is the one that the address names; what no page is called is the plan's. */
const pages = new Set(["plan"])
const fits = (page) => {
  const named = location.pathname.split("/").filter(Boolean).pop()
  return page === named || (page === "plan" && !pages.has(named))
}

// Within a page, Back and Forward are this component's affair: one message, the last one counts.
// Streamlit would begin the page anew at each step. Over to another page it is Streamlit's; what is
// pressed meanwhile waits for that page.
addEventListener(
  "popstate",
  (event) => {
    if (!newest) return
    travelled = Date.now()
    if (event.isTrusted) patience = PATIENCE_MS
    const query = location.search.slice(1)
    const within = newest.parentElement.isConnected && location.pathname === entry.path
    if (within && !returning && query === newest.data.query) return
    const here = within && fits(newest.data.page)
    if (here) event.stopImmediatePropagation()
    entry = { path: location.pathname, page: entry.page }
    goTo(query)
    if (here) ask()
  },
  true,
)

// Pages that were left before the server answered still come in, and Streamlit would make an entry of
// each: nobody visited it, and it cuts off what lies ahead. A click or a key goes on from where one is.
const SETTLED_MS = 5000
let travelled = -Infinity // when one last went back or forward
const push = history.pushState.bind(history)
history.pushState = (...entry) => {
  if (Date.now() - travelled > SETTLED_MS) push(...entry)
}
const goesOn = ({ altKey, metaKey }) => {
  if (!altKey && !metaKey) travelled = -Infinity
}
for (const type of ["click", "keydown"]) addEventListener(type, goesOn, { capture: true, passive: true })

/** Wait for an entry; ask again if it does not come, since a page left behind may have been the last. */
const goTo = (query) => {
  clearTimeout(returning?.timer)
  returning = { id: `${Date.now()}.${(returns += 1)}`, query, asked: false, timer: null }
  wait()
}
const wait = () => {
  clearTimeout(returning.timer)
  returning.timer = setTimeout(insist, patience)
  patience *= 2
}
const insist = () => {
  if (!newest.parentElement.isConnected) return // a page that has no such component
  if (fits(newest.data.page)) ask()
  else dispatchEvent(new PopStateEvent("popstate", { state: history.state }))
}
const ask = () => {
  returning.asked = true
  wait()
  newest.setStateValue("returned", `${returning.id}@${newest.data.page}@${returning.query}`)
}

/** Whether what the server shows is what the address says; if only the page is, the rest is asked for. */
const arrived = ({ page, query, returned }) => {
  pages.add(page)
  if (!fits(page)) {
    if (!returning) goTo(location.search.slice(1))
    return false
  }
  if (!returning || returned === returning.id || query === returning.query) return true
  if (!returning.asked) ask()
  return false
}

/** The parameters that two queries do not have in common. */
const apart = (one, other) => {
  const [left, right] = [one, other].map((query) => new URLSearchParams(query))
  const names = new Set([...left.keys(), ...right.keys()])
  return [...names].filter((name) => left.get(name) !== right.get(name)).sort().join()
}

/** Write a query into the address bar: as an entry of its own, or over the one that it goes on from. */
const write = (search, { query, page, steps }) => {
  const address = location.pathname + search + location.hash
  const before = shown.get(location.pathname)
  const changed = before === undefined ? "" : apart(before, query)
  const same = changed === entry.changed && stroke === entry.stroke
  const here = location.pathname === entry.path && page === entry.page
  const fresh = steps && here && changed && !same
  if (fresh) push(history.state, "", address)
  else history.replaceState(history.state, "", address)
  if (fresh) entry = { ...entry, changed, stroke }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  newest = component
  const button = parentElement.querySelector("button")
  const said = parentElement.querySelector("[role=status]")
  const address = `${location.origin}${location.pathname}?${data.query}`

  if (session !== undefined && session !== data.session) {
    ;[lost, shown] = [shown, new Map()]
    entry = {}
  }
  session = data.session
  if (!arrived(data)) return
  if (returning) {
    clearTimeout(returning.timer)
    shown.delete(location.pathname)
    returning = null
  }
  const gone = lost.get(location.pathname)
  lost.delete(location.pathname)
  if (gone && gone !== data.query && !data.given) return setTriggerValue("lost", gone)

  // Streamlit's own parameters and a place on the page are kept, but not copied.
  const kept = [...new URLSearchParams(location.search)].filter(([name]) => name.startsWith("embed"))
  const search = `?${[data.query, new URLSearchParams(kept).toString()].filter(Boolean).join("&")}`
  if (location.search !== search) {
    write(search, data)
    said.textContent = ""
  }
  if (location.pathname !== entry.path || data.page !== entry.page) entry = { path: location.pathname, page: data.page }
  shown.set(location.pathname, data.query)

  // Charts are drawn for light or dark by the server: ask it again when the theme has changed.
  const paper = getComputedStyle(parentElement.host ?? parentElement).getPropertyValue("--st-background-color")
  const before = papers.get(parentElement)
  papers.set(parentElement, paper)
  if (before !== undefined && before !== paper) setTriggerValue("theme", paper)

  button.onclick = async () => {
    const copied = await copy(address)
    said.textContent = copied ? "Copied." : "Please copy it from the address bar."
  }
}

async function copy(text) {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(() => true, () => false)
  }
  // Over plain http, as in a classroom's own network, browsers offer only the older way.
  const area = document.createElement("textarea")
  area.value = text
  document.body.append(area)
  area.select()
  const copied = document.execCommand("copy")
  area.remove()
  return copied
}
