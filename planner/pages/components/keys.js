// Turns the lesson's pages by keyboard: whatever a presenter's clicker sends.

const FORWARD = ["ArrowRight", "PageDown"]
const BACK = ["ArrowLeft", "PageUp"]

export default function () {
  const turn = (event) => {
    const typing = event.composedPath()[0].matches?.("input, textarea, select, [role=slider]")
    if (typing || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return
    const way = FORWARD.includes(event.key) ? "next" : BACK.includes(event.key) ? "previous" : null
    const link = way && document.querySelector(`.st-key-${way} a`)
    if (link) {
      event.preventDefault()
      link.click()
    }
  }
  document.addEventListener("keydown", turn)
  return () => document.removeEventListener("keydown", turn)
}
