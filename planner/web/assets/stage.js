// The stage: verdict, meter, ways out, figures and charts of one plan, which move as one.
//
// It shows scenes: plain data, every number in words (planner/stage/scene.py). They come packed as
// films (planner/stage/packed.py): the plan at rest is a film of one stop. Nothing is computed here.

const stages = new WeakMap()
const specifications = new Map() // by view and shape, kept while the tab is open
let vega = null

// --- films ---------------------------------------------------------------------------------------

function place(scene, path, value) {
  const steps = path.split("/")
  const last = steps.pop()
  steps.reduce((within, step) => within[step], scene)[last] = value
}

/** The numbers of a column at one stop. lengths: how many each stop has; one number: all alike. */
function column(film, path, at) {
  const { packed, lengths } = film.columns[path]
  film.numbers ??= {}
  const all = (film.numbers[path] ??= new Float32Array(
    Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0)).buffer,
  ))
  if (!Array.isArray(lengths)) return all
  const start = lengths.slice(0, at).reduce((sum, length) => sum + length, 0)
  return all.subarray(start, start + lengths[at])
}

/** The scene at one stop of a film. */
function sceneAt(film, at) {
  const scene = structuredClone(film.base)
  for (const [path, values] of Object.entries(film.vary)) place(scene, path, values[at])
  for (const [path, runs] of Object.entries(film.runs)) {
    place(scene, path, runs.flatMap(([text, times]) => new Array(times).fill(text)))
  }
  for (const path of Object.keys(film.columns)) place(scene, path, column(film, path, at))
  return scene
}

// --- words and bars ------------------------------------------------------------------------------

function element(tag, className, text) {
  const made = document.createElement(tag)
  if (className) made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text
}

/** Children made once for each id, and kept while the ids stay the same. */
function keyed(parent, items, make, fill) {
  const ids = items.map(({ id }) => id).join()
  if (parent.dataset.ids !== ids) {
    parent.replaceChildren(...items.map(make))
    parent.dataset.ids = ids
  }
  items.forEach((item, at) => fill(parent.children[at], item))
}

function showMeter(root, meter) {
  const box = root.querySelector(".meter")
  box.hidden = !meter
  if (!meter) return
  const { parts, end, legend, text } = meter
  keyed(
    box.querySelector(".bar"),
    [...parts, { id: "end" }],
    ({ id }) => element("span", id),
    (node, { id, share }) => {
      if (id === "end") node.style.left = `calc(${100 * end}% - 2px)`
      else node.style.width = `${100 * share}%`
    },
  )
  keyed(
    box.querySelector(".legend"),
    [...legend, { id: "all", text }],
    ({ id }) => {
      const node = element("span", id)
      if (id !== "all") node.append(element("i", id))
      node.append(element("span"))
      return node
    },
    (node, { text }) => write(node.lastChild, text),
  )
}

function makeFigure(tag, { id, label }) {
  const made = element("div", "figure")
  made.dataset.figure = id
  const name = element(tag === "card" ? "h2" : "p", "label", label)
  const help = element("button", "help", "?")
  help.type = "button"
  help.setAttribute("aria-label", `About ${label}`)
  const tip = element("span", "tip")
  tip.setAttribute("role", "tooltip")
  tip.id = `tip-${id}`
  help.setAttribute("aria-describedby", tip.id)
  const strip = element("div", "strip")
  strip.append(element("i"))
  made.append(name, element("p", "value"), element("p", "note"), help, tip, strip)
  return made
}

function fillFigure(node, { label, value, note, at }, help) {
  write(node.querySelector(".label"), label)
  write(node.querySelector(".value"), value)
  write(node.querySelector(".note"), note)
  write(node.querySelector(".tip"), help ?? "")
  node.querySelector(".help").disabled = !help
  const strip = node.querySelector(".strip")
  strip.hidden = at === null
  if (at !== null) strip.firstChild.style.left = `calc(${100 * at}% - 2px)`
}

function showWords(root, scene, rest, texts, change) {
  root.dataset.state = scene.state
  root.classList.toggle("dim", scene.dim)
  write(root.querySelector("h1"), scene.title)
  write(root.querySelector(".detail"), scene.detail)
  write(root.querySelector(".inputs"), scene.inputs)
  write(root.querySelector(".sure"), scene.sure)
  showMeter(root, scene.meter)
  const ways = root.querySelector(".ways")
  const chips = scene.ways.map((way, at) => ({ id: `way-${at}`, ...way }))
  keyed(
    ways,
    chips.length ? [{ id: "lead", text: texts.ways }, ...chips] : [],
    ({ id }) => Object.assign(element(id === "lead" ? "span" : "button", id === "lead" ? "" : "chip"), { type: "button" }),
    (node, { id, text, changes }) => {
      write(node, text)
      if (id !== "lead") node.onclick = () => change(changes)
    },
  )
  for (const part of ["cards", "quiet"]) {
    keyed(
      root.querySelector(`.${part}`),
      scene[part],
      (item) => makeFigure(part === "cards" ? "card" : "quiet", item),
      (node, item) => fillFigure(node, item, rest?.help[item.id]),
    )
  }
}

// --- charts --------------------------------------------------------------------------------------

/** Columns of a scene as the rows that Vega takes. texts: what each row says under the pointer. */
function rowsOf(columns, texts) {
  const names = Object.keys(columns)
  const count = names.length ? columns[names[0]].length : 0
  const rows = new Array(count)
  for (let at = 0; at < count; at++) {
    const row = { sentence: texts ? texts[at] : "" }
    for (const name of names) row[name] = columns[name][at]
    rows[at] = row
  }
  return rows
}

class Plot {
  constructor(place) {
    this.place = place
    this.drawing = Promise.resolve()
    this.sizes = new ResizeObserver(() => this.resize())
    this.sizes.observe(place)
  }

  /** Draws in turn, never two at once on one view, and of several that wait the last alone. */
  draw(chart, key, texts) {
    this.next = { chart, key, texts }
    this.drawing = this.drawing.then(() => {
      const asked = this.next
      this.next = null
      return asked && this.put(asked)
    })
    return this.drawing
  }

  async put({ chart, key, texts }) {
    if (this.key !== key && !(await this.embed(key))) return
    for (const [name, value] of Object.entries(chart.parameters)) this.view.signal(name, value)
    for (const [name, columns] of Object.entries(chart.data)) {
      this.view.data(name, rowsOf(columns, texts?.[name]))
    }
    await this.view.runAsync()
    this.place.classList.remove("late")
    // Vega gives marks of which there are none the role of a picture without a name.
    for (const marks of this.place.querySelectorAll(".role-mark[role]")) {
      if (marks.childElementCount) marks.removeAttribute("aria-hidden")
      else marks.setAttribute("aria-hidden", "true")
    }
  }

  /** A view on the specification of that key; false where there is none, and the old one is dimmed. */
  async embed(key) {
    const specification = specifications.get(key)
    this.place.classList.toggle("late", !specification)
    if (!specification) return false
    const embed = await vega
    this.place.parentElement.classList.toggle("in-words", !embed)
    if (!embed) return false
    this.view?.finalize()
    const fit = { width: this.place.clientWidth || 400, autosize: { type: "fit-x", contains: "padding", resize: true } }
    const tooltip = { theme: key.startsWith("dark") ? "dark" : "light" }
    const options = { ast: true, actions: false, renderer: "svg", mode: "vega-lite", tooltip }
    const made = await embed(this.place, { ...specification, ...fit }, options)
    this.view = made.view
    this.key = key
    return true
  }

  resize() {
    const width = this.place.clientWidth
    if (this.view && width && this.view.width() !== width) this.view.width(width).runAsync()
  }

  remove() {
    this.sizes.disconnect()
    this.view?.finalize()
  }
}

function makeChart({ id, title }) {
  // The same class as a chart's box has on other pages, for their style.
  const figure = element("figure", `st-key-chart-${id}`)
  const plot = element("div", "plot")
  plot.setAttribute("role", "figure")
  figure.append(element("figcaption", "", title), element("p", "alt"), plot, element("p", "waits"))
  return figure
}

function showCharts(stage, scene, rest, { view, texts }) {
  const box = stage.root.querySelector(".charts")
  const known = box.dataset.ids
  keyed(box, scene.charts, makeChart, (figure, chart) => {
    write(figure.querySelector("figcaption"), chart.title)
    write(figure.querySelector(".alt"), rest?.alt[chart.id] ?? "")
    write(figure.querySelector(".waits"), chart.waits ? texts.waits : "")
    const plot = figure.querySelector(".plot")
    plot.setAttribute("aria-label", chart.title)
    plot.hidden = chart.waits
  })
  if (known !== box.dataset.ids || scene.charts.some(({ waits }) => waits)) {
    stage.plots.forEach((plot) => plot.remove())
    stage.plots.clear()
  }
  const drawn = scene.charts.filter(({ waits }) => !waits).map((chart) => {
    if (!stage.plots.has(chart.id)) {
      const place = box.querySelector(`.st-key-chart-${chart.id} .plot`)
      place.replaceChildren()
      stage.plots.set(chart.id, new Plot(place))
    }
    return stage.plots.get(chart.id).draw(chart, `${view} ${chart.shape}`, rest?.sentences[chart.id])
  })
  return Promise.all(drawn)
}

// --- the component -------------------------------------------------------------------------------

// --- films of a slider under the hand -------------------------------------------------------------

const FILMS_KEPT = 24
const films = new Map() // by address: a film, or null while it is on its way or where there is none

/** The scenario but for one number: a film is of that, wherever its slider stands. */
function others(query, name) {
  const given = new URLSearchParams(query)
  given.delete(name)
  return given.toString()
}

/** The film of a part of a slider, fetched where it is not here yet. */
function filmOf({ query, stops_a_film }, files, name, at) {
  const part = Math.floor(at / stops_a_film)
  const address = `${files.film}?${query}&slider=${name}&part=${part}`
  const key = `${others(query, name)} ${name} ${part}`
  if (!films.has(key)) {
    films.set(key, null)
    if (films.size > FILMS_KEPT) films.delete(films.keys().next().value)
    fetch(address)
      .then((answer) => (answer.status < 500 ? answer : Promise.reject(answer)))
      .then((answer) => (answer.ok ? answer.json() : null))
      .then((film) => films.has(key) && films.set(key, film))
      .catch(() => films.delete(key)) // not to be had now; asked for again with the next move
  }
  return films.get(key)
}

/** What a slider says: it is near the hand, was moved, has sent a value, or has what the server has. */
function heard(stage, event) {
  const { what, slider, at, value } = event.detail
  const { data, files } = stage
  const name = slider.replace("slider-", "")
  if (what === "back" && stage.moving?.name === name) showSettled(stage)
  // Sent from a place of which no film was shown: its answer is awaited as ever.
  if (what === "sent" && stage.moving?.value !== value) stage.moving = null
  if (what !== "near" && what !== "moved") return
  if (!data.query || !(name in data.numbers)) return
  const film = filmOf(data, files, name, at)
  const size = data.stops_a_film
  for (const far of [at - size / 4, at + size / 4]) {
    if (far >= 0 && Math.floor(far / size) !== Math.floor(at / size)) filmOf(data, files, name, far)
  }
  const place = film ? film.stops.indexOf(value) : -1
  if (what !== "moved" || place < 0) return
  event.preventDefault()
  stage.moving = { name, value, others: others(data.query, name) }
  const scene = sceneAt(film, place)
  showWords(stage.root, scene, null, data.texts, stage.change)
  showCharts(stage, scene, null, data)
}

/** Whether a film shows more than what the server has sent: the hand has moved on since. */
function ahead({ moving, data }) {
  if (!moving || !data.query) return false
  return data.numbers[moving.name] !== moving.value && others(data.query, moving.name) === moving.others
}

const MARKUP = `
  <div class="verdict"><span class="sign" aria-hidden="true"></span><div><h1></h1><p class="detail"></p></div></div>
  <p class="inputs"></p>
  <div class="meter"><div class="bar" aria-hidden="true"></div><div class="legend"></div></div>
  <div class="ways" role="group"></div>
  <div class="cards"></div>
  <div class="quiet"></div>
  <p class="sure"></p>
  <div class="charts"></div>
  <p class="told" role="status"></p>`

function start(parentElement) {
  const root = element("section", "stage")
  root.innerHTML = MARKUP
  parentElement.append(root)
  const stage = { root, plots: new Map(), moving: null, listening: new AbortController() }
  const { signal } = stage.listening
  document.addEventListener("planner-slider", (event) => heard(stage, event), { signal })
  return stage
}

/** Shows what the server sends: a plan at rest. */
export default function ({ data, parentElement, setTriggerValue }) {
  const root = location.origin + location.pathname.replace(/[^/]*$/, "")
  const files = Object.fromEntries(Object.entries(data.files).map(([name, path]) => [name, root + path]))
  vega ??= bundle(files)
  const stage = stages.get(parentElement) ?? start(parentElement)
  stages.set(parentElement, stage)
  for (const [shape, spec] of Object.entries(data.specifications)) {
    specifications.set(`${data.view} ${shape}`, withFont(spec, parentElement))
  }
  stage.root.classList.toggle("presenting", data.presenting)
  stage.change = (changes) => setTriggerValue("change", { ...changes })
  Object.assign(stage, { data, files })
  const scene = sceneAt(data.film, 0)
  const lacking = scene.charts
    .filter(({ waits, shape }) => !waits && !specifications.has(`${data.view} ${shape}`))
    .map(({ shape }) => shape)
  if (lacking.length) setTriggerValue("lacking", lacking)
  if (!ahead(stage)) showSettled(stage)
  return () => remove(parentElement)
}

/** The plan at rest, exact, with what is told at rest only. */
function showSettled(stage) {
  const { root, data } = stage
  const scene = sceneAt(data.film, 0)
  stage.moving = null
  showWords(root, scene, data.rest, data.texts, stage.change)
  write(root.querySelector(".told"), `${scene.title} ${scene.detail}`)
  showCharts(stage, scene, data.rest, data)
}

function remove(parentElement) {
  const stage = stages.get(parentElement)
  stage?.listening.abort()
  stage?.plots.forEach((plot) => plot.remove())
  stage?.root.remove() // the element itself may be used again
  stages.delete(parentElement)
}

function withFont(spec, parentElement) {
  const font = getComputedStyle(parentElement).fontFamily
  return { ...spec, config: { ...spec.config, font } }
}

/** What draws charts; null where it cannot be had, and they are told in words. */
function bundle(files) {
  return import(files.vega).then(
    () => window.plannerVega.vegaEmbed,
    () => null,
  )
}
