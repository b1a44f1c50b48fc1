// What plays a scene: buttons, the space bar, arrow keys and a position that moves on by itself.
//
// A scene shows any position between two stops. Who asks for less motion sees the stops alone.

const plays = new WeakMap()
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches
const TYPING = "input, textarea, select, button, a, summary, [role=slider], [contenteditable]"

// stops: positions to step through, rising. at: where the server says it stands. perSecond: how
// fast it plays. name: a position in words. show: draws a position. settled: told where it rests.
function transport(parentElement, { stops, at, perSecond, name, show, settled }) {
  const find = (part) => parentElement.querySelector(`.transport ${part}`)
  const [back, play, step] = [find(".back"), find(".play"), find(".step")]
  const range = find("input")
  const state = plays.get(parentElement) ?? { position: at, server: at, run: 0, playing: false }
  plays.set(parentElement, state)
  const first = stops[0]
  const last = stops[stops.length - 1]

  const draw = () => {
    state.position = Math.min(Math.max(state.position, first), last)
    range.value = state.position
    range.setAttribute("aria-valuetext", name(state.position))
    find("output").textContent = name(state.position)
    play.textContent = state.playing ? "Pause" : "Play"
    show(state.position)
  }
  const rest = () => {
    state.playing = false
    state.run += 1
    draw()
    settled?.(state.position)
  }
  const ahead = () => stops.find((stop) => stop > state.position + 1e-9)
  const behind = () => stops.findLast((stop) => stop < state.position - 1e-9)
  const go = (stop) => {
    if (stop === undefined) return false
    state.position = stop
    rest()
    return true
  }
  const toggle = () => {
    if (state.playing) return rest()
    if (state.position >= last) state.position = first
    state.playing = true
    const run = (state.run += 1)
    let before = performance.now()
    const frame = (now) => {
      if (run !== state.run || !parentElement.isConnected) return
      const moved = ((now - before) / 1000) * state.perSecond
      if (!calm()) {
        before = now
        state.position += moved
      } else if (moved >= (ahead() ?? last) - state.position) {
        before = now
        state.position = ahead() ?? last
      }
      if (state.position >= last) return rest()
      state.draw()
      requestAnimationFrame(frame)
    }
    draw()
    requestAnimationFrame(frame)
  }
  Object.assign(state, { perSecond, draw, toggle, forth: () => go(ahead()), back: () => go(behind()) })

  range.min = first
  range.max = last
  range.setAttribute("aria-label", "Position")
  range.oninput = () => {
    state.playing = false
    state.run += 1
    state.position = Number(range.value)
    draw()
  }
  range.onchange = () => go(stops.reduce((a, b) => (Math.abs(b - range.value) < Math.abs(a - range.value) ? b : a)))
  play.onclick = toggle
  step.onclick = state.forth
  back.onclick = state.back

  if (!state.listening) {
    state.listening = new AbortController()
    const { signal } = state.listening
    document.addEventListener(
      "keydown",
      (event) => {
        const target = event.composedPath()[0]
        if (event.key !== " " || target.matches?.(TYPING) || event.ctrlKey || event.metaKey) return
        event.preventDefault()
        state.toggle()
      },
      { signal },
    )
    // The keys that turn the lesson's pages ask first whether there is something to step through.
    document.addEventListener(
      "planner-walk",
      (event) => {
        if (event.detail > 0 ? state.forth() : state.back()) event.preventDefault()
      },
      { signal },
    )
  }
  if (state.server !== at && !state.playing) state.position = at
  state.server = at
  draw()
  return () => {
    state.run += 1
    state.listening?.abort()
    plays.delete(parentElement)
  }
}
