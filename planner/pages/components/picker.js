// A field that finds what people type: a model, device or format by any of its names.
//
// The list comes from an address of its own, which the browser keeps. Each option has `keys`, its
// names in lower-case letters, digits and dots, and `also`, names of others that stand for the
// same; the list is ranked by use. What was typed is never dropped in silence.

const MOST = 60
const PATIENCE_MS = 5000 // then the choice is given up
const COUNTED = /^\s*(\d+)\s*[x×*]\s*(.*)$/i // 2x H100
const APART = /\s*[+&,]\s*|\s+and\s+/i // 2x 3090 + 4090
const TUNED = /(instruct|chat|it|hf)$/ // of the shape that it was tuned from
const LEAST_PREFIX = 5 // letters of a name that a longer text may begin with
const lists = new Map() // by address
const states = new WeakMap()

const packed = (text) => text.toLowerCase().replace(/[^a-z0-9.]/g, "")
const words = (text) => text.toLowerCase().split(/[^a-z0-9.]+/).filter(Boolean)

const listed = (address) => {
  if (!lists.has(address)) {
    const asked = fetch(address).then((answer) => {
      if (!answer.ok) throw new Error(answer.statusText)
      return answer.json()
    })
    asked.catch(() => lists.delete(address)) // asked again the next time
    lists.set(address, asked)
  }
  return lists.get(address)
}

// How well one name matches, less is better: the name in full, its start, every word of what was
// typed somewhere in it, or the name with more behind it (a checkpoint's storage); Infinity: not at all.
const score = (key, typed) => {
  if (key === typed.whole || key === typed.last) return 0
  if (key === typed.last.replace(TUNED, "")) return 0.5
  if (key.startsWith(typed.whole)) return 1
  if (typed.words.every((word) => key.includes(word))) return 2.5
  if (key.length >= LEAST_PREFIX && typed.last.startsWith(key)) return 3 - key.length / 1000
  return Infinity
}

/** The options that match, best first, each with the other name by which it was found, if any. */
function found(options, text) {
  const last = packed(text.split("/").pop())
  const typed = { whole: packed(text), last, words: words(text).map(packed) }
  if (!typed.whole) return options.map((option) => ({ option, by: "" }))
  const scored = options.map((option, rank) => {
    const parts = words(option.name)
    const begun = typed.words.every((word) => parts.some((part) => part.startsWith(word))) ? 2 : Infinity
    let best = { option, rank, by: "", score: Math.min(begun, ...option.keys.map((key) => score(key, typed))) }
    for (const [name, key] of option.also) {
      const other = score(key, typed) + 0.1 // a name of its own counts more
      if (other < best.score) best = { option, rank, by: name, score: other }
    }
    return best
  })
  const kept = scored.filter((each) => each.score < Infinity)
  return kept.sort((a, b) => a.score - b.score || a.rank - b.rank)
}

/** The nearest to devices of several kinds, a row; null where the text names no two. */
function nearest(options, text) {
  const parts = text.split(APART).map((part) => part.match(COUNTED) || part.match(/^\s*(\d+)\s+(.*)$/) || [null, "1", part])
  if (parts.length < 2) return null
  const named = parts.map(([, , name]) => found(options, name.trim())[0]?.option)
  if (named.some((option) => !option) || new Set(named.map(({ id }) => id)).size < 2) return null
  const least = named.reduce((a, b) => (parseFloat(b.note) < parseFloat(a.note) ? b : a))
  const count = String(parts.reduce((sum, [, each]) => sum + Number(each), 0))
  const note = "the smaller"
  return { id: least.id, name: `${count} × ${least.name}`, shown: least.name, count, note }
}

// What is sent while the connection is down is lost.
const connected = () => {
  const app = document.querySelector("[data-test-connection-state]")
  return !app || app.dataset.testConnectionState === "CONNECTED"
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const { label, value, shown, address, unknown, counted } = data
  const field = parentElement.querySelector("input")
  const list = parentElement.querySelector("ul")
  const problem = parentElement.querySelector("[role=status]")
  const state = states.get(parentElement) ?? { open: false, at: 0, rows: [], timer: null }
  states.set(parentElement, state)

  parentElement.querySelector("label").textContent = label
  clearTimeout(state.timer)
  Object.assign(state, { value, shown })
  if (!state.open) field.value = shown

  const draw = () => {
    list.hidden = !state.open || !state.rows.length
    field.setAttribute("aria-expanded", !list.hidden)
    if (list.hidden) return field.removeAttribute("aria-activedescendant")
    list.replaceChildren(
      ...state.rows.map((row, at) => {
        const item = document.createElement("li")
        item.id = `option-${at}`
        item.role = "option"
        item.setAttribute("aria-selected", at === state.at)
        item.append(row.name)
        if (row.note) item.append(Object.assign(document.createElement("small"), { textContent: row.note }))
        item.onpointerdown = (event) => event.preventDefault() // the field keeps the focus
        item.onclick = () => choose(row)
        return item
      }),
    )
    field.setAttribute("aria-activedescendant", `option-${state.at}`)
    list.children[state.at]?.scrollIntoView({ block: "nearest" })
  }
  const look = async (text) => {
    let options
    try {
      options = await listed(address)
    } catch {
      problem.textContent = `The list could not be loaded; ${state.shown} is kept.`
      return
    }
    const [, count, rest] = (counted && text.match(COUNTED)) || [null, "", text]
    const typed = rest.trim()
    const best = found(options, typed).slice(0, MOST)
    state.rows = best.map(({ option, by }) => ({
      id: option.id,
      name: count ? `${count} × ${option.name}` : option.name,
      shown: option.name,
      count,
      note: by && !packed(option.name).includes(packed(by)) ? `as ${by}` : option.note,
    }))
    const mixed = counted && nearest(options, text)
    if (mixed) {
      state.rows = [mixed]
      problem.textContent = "Unequal devices are not modelled; the nearest answer is as many of the smaller."
    }
    const exact = best.length && best[0].score < 1
    const other = { id: null, typed, name: `${unknown} “${typed}”`, note: "" }
    if (unknown && typed && !exact) typed.includes("/") ? state.rows.unshift(other) : state.rows.push(other)
    state.at = typed ? 0 : Math.max(0, state.rows.findIndex(({ id }) => id === state.value))
    draw()
  }
  const open = () => {
    if (state.open) return
    state.open = true
    problem.textContent = ""
    field.select()
    return look("")
  }
  const close = () => {
    state.open = false
    field.value = state.shown
    draw()
  }
  const choose = (row) => {
    const before = state.shown
    const lost = () => {
      state.shown = before
      close()
      problem.textContent = `No answer; ${before} is kept.`
    }
    if (!connected()) return lost()
    if (row.id === null) setTriggerValue("unknown", row.typed)
    else if (row.id !== state.value || row.count) {
      state.shown = row.shown
      setStateValue("value", `${row.id}@${row.count}@${Date.now()}`) // stamped: it counts again
      state.timer = setTimeout(lost, PATIENCE_MS)
    }
    close()
  }

  field.onfocus = open
  field.onclick = open
  field.oninput = () => {
    state.open = true
    problem.textContent = ""
    look(field.value)
  }
  field.onblur = () => {
    const typed = field.value.trim()
    if (state.open && typed && typed !== state.shown)
      problem.textContent = `“${typed}” was not chosen; ${state.shown} is kept.`
    close()
  }
  field.onkeydown = async (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }
    if (event.key in steps) {
      event.preventDefault()
      if (!state.open) return open()
      state.at = Math.min(Math.max(state.at + steps[event.key], 0), state.rows.length - 1)
      draw()
    } else if (event.key === "Enter" && state.open) {
      event.preventDefault()
      const typed = field.value.trim()
      if (typed && typed !== state.shown) await look(typed) // the keys may be faster than the list
      if (state.rows.length) choose(state.rows[state.at])
      else problem.textContent = `Nothing is called “${typed}”; ${state.shown} is kept.`
    } else if (event.key === "Escape" && state.open) {
      close()
    }
  }
  parentElement.querySelector(".box button").onclick = () => (state.open ? close() : field.focus())
}
