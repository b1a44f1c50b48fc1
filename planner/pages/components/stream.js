// Shows the same text in every lane, each word when its lane's speed has it ready; slower, if asked,
// where two lanes are too fast to be told apart.

const SECONDS = 8
const SLOWER = 10
const states = new WeakMap()

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button")
  const place = parentElement.querySelector(".lanes")
  const { words, lanes } = data
  const state = states.get(parentElement) ?? { run: 0, shown: "" }
  states.set(parentElement, state)

  const key = JSON.stringify(lanes)
  if (state.shown !== key) {
    state.shown = key
    state.run += 1 // another speed: what was running stops
    place.replaceChildren(...lanes.map(({ label }) => lane(label)))
    button.textContent = "Start"
  }

  button.onclick = () => {
    const run = (state.run += 1)
    const start = performance.now()
    const pace = parentElement.querySelector("input").checked ? 1 / SLOWER : 1
    button.textContent = "Start again"
    const frame = (now) => {
      if (run !== state.run || !place.isConnected) return
      const seconds = Math.min((now - start) / 1000, SECONDS)
      lanes.forEach(({ words_per_s }, at) => {
        const count = Math.floor(seconds * words_per_s * pace)
        const [text, counter] = place.children[at].querySelectorAll("p")
        if (Number(counter.dataset.count) === count) return
        counter.dataset.count = count
        counter.textContent = `${count} words in ${(seconds * pace).toFixed(1)} s`
        // The lane shows the end of the text; what has scrolled away need not be there.
        const first = Math.max(0, count - 2 * words.length)
        let shown = ""
        for (let word = first; word < count; word++) {
          const piece = words[word % words.length]
          shown += (word + 1) % words.length ? piece : `${piece} `
        }
        text.textContent = shown
      })
      if (seconds < SECONDS) requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  }
}

function lane(label) {
  const section = document.createElement("section")
  const heading = document.createElement("h3")
  heading.textContent = label
  const box = document.createElement("div")
  box.className = "text"
  box.append(document.createElement("p"))
  const counter = document.createElement("p")
  counter.className = "count"
  counter.textContent = "0 words"
  section.append(heading, box, counter)
  return section
}
