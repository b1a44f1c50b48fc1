// A slider over decades with an exact field beside it.
//
// The answer follows the hand: a dragged value is sent at once, but only one change is under way at
// a time, so that a slow server sees fewer values and never an old one last.

const PATIENCE_MS = 2000
const states = new WeakMap()

export default function ({ data, parentElement, setStateValue }) {
  const range = parentElement.querySelector("input[type=range]")
  const field = parentElement.querySelector("input[type=text]")
  const problem = parentElement.querySelector("[role=status]")
  const { label, unit, stops, minimum, maximum, whole } = data

  const state = states.get(parentElement) ?? { shown: null, sent: null, next: null, timer: null }
  states.set(parentElement, state)
  state.known = data.value // what the server holds

  const written = (number) => number.toLocaleString("en-US", { maximumFractionDigits: 6 })
  const nearest = (number) => {
    const distance = (stop) => Math.abs(Math.log(stop / number))
    return stops.reduce((best, stop, at) => (distance(stop) < distance(stops[best]) ? at : best), 0)
  }
  const show = (number, position) => {
    state.shown = number
    field.value = written(number)
    range.value = position
    range.setAttribute("aria-valuetext", `${written(number)} ${unit}`)
    problem.textContent = ""
  }
  const send = (number) => {
    if (state.sent !== null) {
      state.next = number
    } else if (number !== state.known) {
      state.sent = number
      state.timer = setTimeout(answered, PATIENCE_MS) // a lost answer must not block the next change
      setStateValue("value", number)
    }
  }
  const answered = () => {
    clearTimeout(state.timer)
    const next = state.next
    state.sent = state.next = null
    if (next !== null) send(next)
  }

  parentElement.querySelector("label").textContent = label
  parentElement.querySelector(".unit").textContent = unit
  range.max = stops.length - 1
  range.setAttribute("aria-label", label)

  if (state.sent === null) {
    if (data.value !== state.shown) show(data.value, nearest(data.value))
  } else if (data.value === state.sent) {
    answered()
  }

  range.oninput = () => {
    const number = stops[range.value]
    show(number, range.value)
    send(number)
  }
  field.onchange = () => {
    const text = field.value.replaceAll(",", "").trim()
    const number = Number(text)
    let wrong = ""
    if (text === "" || !Number.isFinite(number)) wrong = "Not a number"
    else if (number < minimum) wrong = `At least ${written(minimum)}`
    else if (number > maximum) wrong = `At most ${written(maximum)}`
    else if (whole && !Number.isInteger(number)) wrong = "Whole numbers only"
    if (wrong) {
      field.value = written(state.shown)
      problem.textContent = `${wrong}; ${field.value} is kept.`
    } else {
      show(number, nearest(number))
      send(number)
    }
  }
}
