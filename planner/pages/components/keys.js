// Turns the lesson's pages by keyboard: whatever a presenter's clicker sends. Arrow keys first step
// through what there is to step through on the page; Page Up and Page Down always turn it.

const FORWARD = ["ArrowRight", "PageDown"]
const BACK = ["ArrowLeft", "PageUp"]

export default function () {
  const turn = (event) => {
    const typing = event.composedPath()[0].matches?.("input, textarea, select, [role=slider], [role=radio], [role=tab]")
    if (typing || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return
    const way = FORWARD.includes(event.key) ? "next" : BACK.includes(event.key) ? "previous" : null
    if (!way) return
    event.preventDefault()
    if (event.key.startsWith("Arrow")) {
      const walk = new CustomEvent("planner-walk", { detail: way === "next" ? 1 : -1, cancelable: true })
      if (!document.dispatchEvent(walk)) return
    }
    document.querySelector(`.st-key-${way} :is(a, button:not(:disabled))`)?.click()
  }
  document.addEventListener("keydown", turn)
  return () => document.removeEventListener("keydown", turn)
}
