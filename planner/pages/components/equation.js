// An equation whose numbers are dragged in place, with bars that follow. It computes nothing: every
// stop of a factor brings what the equation comes to there.
//
// data: parts, each a text and a label, or a parameter, a label, stops (value, text, result, bars)
// and at, the present one; result and bars, at present; most, where the bars' axis ends; unit.

const STEP = 14 // pixels of a drag from one stop to the next
const COLOURS = ["#56B4E9", "#009E73", "#CC79A7", "#E69F00", "#0072B2", "#D55E00", "#8A8F98"]
const drags = new WeakMap()

export default function ({ data, parentElement, setStateValue }) {
  const scene = parentElement.querySelector(".scene")
  const place = parentElement.querySelector(".equation")
  scene.classList.toggle("presenting", data.presenting)
  const state = drags.get(parentElement) ?? { dragged: null, sent: null }
  drags.set(parentElement, state)
  if (state.dragged) return // the hand is ahead of the server: what it shows stands

  const focused = parentElement.activeElement?.dataset?.parameter ?? (parentElement.getRootNode().activeElement?.dataset?.parameter)
  let colour = 0
  const buttons = []
  place.replaceChildren(
    ...data.parts.map((part) => {
      const box = document.createElement("span")
      box.className = "part"
      const label = document.createElement("small")
      label.textContent = part.label
      if (!part.stops) {
        box.append(part.text, label)
        return box
      }
      const button = document.createElement("button")
      button.style.setProperty("--colour", COLOURS[colour++ % COLOURS.length])
      buttons.push(button)
      bind(button, part)
      box.append(button, label)
      return box
    }),
  )
  const result = document.createElement("span")
  result.className = "result"
  result.setAttribute("aria-live", "polite")
  place.append("= ", result)
  draw(data)
  buttons.find((button) => button.dataset.parameter === focused)?.focus()

  function draw({ result: text, bars }) {
    result.textContent = text
    parentElement.querySelector(".bars").replaceChildren(
      ...bars.flatMap(({ label, text, parts }) => {
        const name = document.createElement("span")
        name.textContent = label
        const bar = document.createElement("div")
        bar.className = "bar"
        let room = 100
        for (const [kind, size] of Object.entries(parts)) {
          const part = document.createElement("i")
          const share = Math.min((100 * size) / data.most, room)
          room -= share
          part.className = kind
          part.style.width = `${share}%`
          bar.append(part)
        }
        const beyond = Object.values(parts).reduce((a, b) => a + b, 0) > data.most
        bar.classList.toggle("beyond", room < 25)
        const said = document.createElement("span")
        said.textContent = beyond ? `${text} →` : text
        bar.append(said)
        return [name, bar]
      }),
    )
  }

  function bind(button, part) {
    let at = part.at
    const last = part.stops.length - 1
    button.type = "button"
    button.className = "factor"
    button.dataset.parameter = part.parameter
    button.setAttribute("role", "slider")
    button.setAttribute("aria-label", part.label)
    button.setAttribute("aria-valuemin", 0)
    button.setAttribute("aria-valuemax", last)
    const show = (stop) => {
      at = Math.min(Math.max(stop, 0), last)
      button.textContent = part.stops[at].text
      button.setAttribute("aria-valuenow", at)
      button.setAttribute("aria-valuetext", `${part.stops[at].text} ${part.label}`)
    }
    const move = (stop) => {
      show(stop)
      draw(part.stops[at])
    }
    const settle = () => {
      state.dragged = null
      button.classList.remove("dragged")
      if (at !== part.at) setStateValue("value", `${part.parameter}=${part.stops[at].value}@${Date.now()}`)
    }
    show(at)
    button.onpointerdown = (event) => {
      button.setPointerCapture(event.pointerId)
      state.dragged = { x: event.clientX, at }
      button.classList.add("dragged")
    }
    button.onpointermove = (event) => {
      if (state.dragged) move(state.dragged.at + Math.round((event.clientX - state.dragged.x) / STEP))
    }
    button.onpointerup = settle
    button.onpointercancel = settle
    button.onkeydown = (event) => {
      const ways = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: last }
      if (!(event.key in ways)) return
      event.preventDefault()
      move(ways[event.key])
      settle()
    }
  }
}
