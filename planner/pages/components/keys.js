// Turns the lesson's pages by keyboard: whatever a presenter's clicker sends. Arrow keys first step
// through what there is to step through on the page; Page Up and Page Down always turn it, and a
// digit chooses one of its boards.
//
// data: turning, whether they do; lines, how many the screen has as far as the page knows, or null
// where it need not know; 0 on a phone. Charts are drawn for a room's screen.

const PHONE = 640 // pixels across, up to which a screen is not a room's
const FORWARD = ["ArrowRight", "PageDown"]
const BACK = ["ArrowLeft", "PageUp"]
const TYPED_IN = "input, textarea, select, [role=slider], [role=radio], [role=tab], [role=combobox]"
const listening = new WeakMap()

export default function ({ data, parentElement, setStateValue }) {
  const lines = innerWidth > PHONE ? innerHeight : 0
  if (data.lines !== null && Math.abs(data.lines - lines) > 20) setStateValue("lines", lines)
  listening.get(parentElement)?.abort()
  const listener = new AbortController()
  listening.set(parentElement, listener)
  if (data.turning) document.addEventListener("keydown", turn, { signal: listener.signal })
  return () => listening.get(parentElement)?.abort()
}

function turn(event) {
  if (event.composedPath()[0].matches?.(TYPED_IN)) return
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return
  const board = "123456789".indexOf(event.key)
  if (board >= 0) return document.querySelectorAll(".st-key-board-switch button")[board]?.click()
  const way = FORWARD.includes(event.key) ? "next" : BACK.includes(event.key) ? "previous" : null
  if (!way) return
  event.preventDefault()
  if (event.key.startsWith("Arrow")) {
    const walk = new CustomEvent("planner-walk", { detail: way === "next" ? 1 : -1, cancelable: true })
    if (!document.dispatchEvent(walk)) return
  }
  document.querySelector(`.st-key-${way} :is(a, button:not(:disabled))`)?.click()
}
