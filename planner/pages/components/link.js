// Keeps the address bar equal to the state and copies it. The present entry of the history is
// replaced, not added to: a hand on a slider must not bury the page one came from.
//
// The plan is the link, so it outlives the server: when a page that is open meets a new session (a
// restart, another instance), what it last showed under an address is given back to that session.
//
// data: query, the state; session, which one the server holds; given, whether it came by a link.

const papers = new WeakMap()
let session
let shown = new Map()
let lost = new Map()
const PHONE = matchMedia("(max-width: 640px)")

// On a phone the drawer covers the page: it closes once a page was chosen in it.
document.addEventListener("click", ({ target }) => {
  if (!PHONE.matches || !target.closest?.("[data-testid=stSidebarNavLink]")) return
  const close = () => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click()
  setTimeout(close, 0) // after the page has taken the click
})

export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector("button")
  const said = parentElement.querySelector("[role=status]")
  const address = `${location.origin}${location.pathname}?${data.query}`

  if (session !== undefined && session !== data.session) [lost, shown] = [shown, new Map()]
  session = data.session
  const held = lost.get(location.pathname)
  lost.delete(location.pathname)
  if (held && held !== data.query && !data.given) return setTriggerValue("lost", held)
  shown.set(location.pathname, data.query)

  // Streamlit's own parameters and a place on the page are kept, but not copied.
  const kept = [...new URLSearchParams(location.search)].filter(([name]) => name.startsWith("embed"))
  const search = `?${[data.query, new URLSearchParams(kept).toString()].filter(Boolean).join("&")}`
  if (location.search !== search) {
    history.replaceState(history.state, "", location.pathname + search + location.hash)
    said.textContent = ""
  }

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
