// Keeps a text in this browser, over reloads, and gives it back to the page that starts anew.
//
// data: name, of what is kept; text, what is to be kept, or null while the page does not know yet.

const asked = new WeakSet()

export default function ({ data, parentElement, setStateValue }) {
  const place = `llm-capacity-planner-${data.name}`
  let found = ""
  try {
    if (data.text !== null) return localStorage.setItem(place, data.text)
    found = localStorage.getItem(place) ?? ""
  } catch {
    if (data.text !== null) return // storage is switched off: nothing is kept
  }
  if (asked.has(parentElement)) return
  asked.add(parentElement)
  setStateValue("text", found)
}
