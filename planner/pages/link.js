// Keeps the address bar equal to the state and copies it. The present entry of the history is
// replaced, not added to: a hand on a slider must not bury the page one came from.

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button")
  const said = parentElement.querySelector("[role=status]")
  const address = () => `${location.origin}${location.pathname}?${data.query}`

  if (location.search !== `?${data.query}`) {
    history.replaceState(history.state, "", address())
    said.textContent = ""
  }

  button.onclick = async () => {
    const copied = await copy(address())
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
