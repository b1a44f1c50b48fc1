// A slider over decades with an exact field beside it.
//
// The answer follows the hand: a dragged value is sent at once, but only one change is under way at
// a time, so that a slow server sees fewer values and never an old one last. Where the page says that
// it shows the answer by itself (the stage, from a film), a value is sent once the hand is at rest.

const REST_MS = 200
const PATIENCE_MS = [1500, 4000] // then asked again, then given up
const NUMBER = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(.*)$/i
// 8,192 or 8 192 or 8_192, but not the decimal comma of 16,5
const GROUPED = /^[+-]?\d{1,3}(?:([, _\u00a0\u2009\u202f])\d{3})(?:\1\d{3})*(?!\d)/
const LARGER = { GB: "tb", "GB/s": "tb/s", "TFLOP/s": "pflop/s" } // a thousand of the unit
const states = new WeakMap()

/** The number that a person writes: 32k, 1M, 16 384, 2x (twice what it was), 3.35 TB/s; or NaN. */
function read(text, unit, before) {
  const grouped = text.match(GROUPED)
  const plain = grouped ? grouped[0].replace(/[^\d+-]/g, "") + text.slice(grouped[0].length) : text
  const [, digits, behind] = plain.match(NUMBER) ?? []
  if (digits === undefined) return NaN
  const kilo = unit === "tokens" ? 1024 : 1000 // 32k tokens are 32,768, as models state them
  const own = unit.toLowerCase()
  const factors = { "": 1, k: kilo, m: kilo ** 2, x: before, "×": before, [LARGER[unit]]: 1000 }
  const word = behind.toLowerCase()
  const size = word.endsWith(own) ? word.slice(0, word.length - own.length).trim() : word
  return Number(digits) * (factors[size] ?? NaN)
}

// What is sent while the connection is down is lost, and so is all that the same slider sends later.
const connected = () => {
  const app = document.querySelector("[data-test-connection-state]")
  return !app || app.dataset.testConnectionState === "CONNECTED"
}

export default function ({ data, parentElement, setStateValue }) {
  const range = parentElement.querySelector("input[type=range]")
  const field = parentElement.querySelector("input[type=text]")
  const problem = parentElement.querySelector("[role=status]")
  const { label, unit, stops, minimum, maximum, whole } = data

  const fresh = { known: data.value, shown: null, sent: null, next: null, timer: null, rest: null }
  const state = states.get(parentElement) ?? fresh
  states.set(parentElement, state)

  const written = (number) => number.toLocaleString("en-US", { maximumFractionDigits: 6 })
  const nearest = (number) => {
    const log = (value) => Math.log(Math.max(value, 1e-9)) // 0 is far from every other stop
    const distance = (stop) => Math.abs(log(stop) - log(number))
    return stops.reduce((best, stop, at) => (distance(stop) < distance(stops[best]) ? at : best), 0)
  }
  const show = (number, position) => {
    state.shown = number
    field.value = written(number)
    range.value = position
    range.setAttribute("aria-valuetext", `${written(number)} ${unit}`)
    problem.textContent = ""
  }
  // Whether somebody on the page shows the answer for where the thumb is. what: the slider is near
  // the hand, moved, has sent its value, or is back at what the server has.
  const announced = (what) =>
    !document.dispatchEvent(
      new CustomEvent("planner-slider", {
        detail: { what, slider: data.name, at: Number(range.value), value: state.shown },
        cancelable: true,
      }),
    )
  const hold = (number) => {
    clearTimeout(state.rest)
    state.rest = setTimeout(release, REST_MS, number)
  }
  const release = (number) => {
    clearTimeout(state.rest)
    state.rest = null
    announced("sent")
    send(number)
  }
  const settle = () => {
    clearTimeout(state.timer)
    clearTimeout(state.rest)
    state.sent = state.next = state.rest = null
    announced("back")
    if (state.known !== state.shown) show(state.known, nearest(state.known))
  }
  const send = (number) => {
    if (!connected()) {
      settle()
      problem.textContent = `Not connected; ${field.value} is kept.`
    } else if (state.sent !== null) {
      state.next = number
    } else if (number !== state.known) {
      state.sent = number
      ask(0)
    } else {
      announced("back")
    }
  }
  const ask = (time) => {
    // Stamped, so that the same number counts when it is sent again. It may have to be: the first
    // message after a connection was lost and found again does not arrive.
    setStateValue("value", `${state.sent}@${Date.now()}`)
    const again = time + 1 < PATIENCE_MS.length ? () => ask(time + 1) : settle
    state.timer = setTimeout(again, PATIENCE_MS[time])
  }

  parentElement.querySelector("label").textContent = label
  parentElement.querySelector(".unit").textContent = unit
  range.max = stops.length - 1
  range.setAttribute("aria-label", label)
  field.setAttribute("aria-label", `${label}, exact value`)

  const before = state.known
  state.known = data.value // what the server holds
  if (state.sent === data.value) {
    clearTimeout(state.timer)
    const next = state.next
    state.sent = state.next = null
    if (next !== null) send(next)
  } else if (data.value !== before || (state.sent === null && state.rest === null)) {
    settle() // somebody else, a device chosen or a link, has set it
  }

  range.oninput = () => {
    const number = stops[range.value]
    show(number, range.value)
    if (announced("moved")) hold(number)
    else release(number)
  }
  range.onpointerup = () => {
    if (state.rest !== null) release(state.shown)
  }
  range.onpointerenter = range.onfocus = () => announced("near")
  field.oninput = () => {
    problem.textContent = ""
  }
  field.onkeydown = (event) => {
    if (event.key === "Escape") field.value = written(state.shown)
  }
  field.onchange = () => {
    const number = read(field.value.trim(), unit, state.shown)
    let wrong = ""
    if (Number.isNaN(number)) wrong = "Not a number"
    else if (number < minimum) wrong = `At least ${written(minimum)}`
    else if (number > maximum) wrong = `At most ${written(maximum)}`
    else if (whole && !Number.isInteger(number)) wrong = "Whole numbers only"
    if (wrong) {
      field.value = written(state.shown)
      problem.textContent = `${wrong}; ${field.value} is kept.`
    } else {
      show(number, nearest(number))
      release(number)
    }
  }
}
