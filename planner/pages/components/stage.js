// Loads the stage: files of their own, under names that change with what is in them, so that the
// browser keeps them and the server need not send them with every change.
//
// data: assets, the addresses of its files from the app's own, and what the stage shows.

const styled = new Map()
let loading = null

export default function (component) {
  const { parentElement, data } = component
  const root = location.origin + location.pathname.replace(/[^/]*$/, "")
  const assets = Object.fromEntries(Object.entries(data.assets).map(([name, path]) => [name, root + path]))
  loading ??= Promise.all([import(assets.stage), style(assets.css)])
  newest.set(parentElement, component)
  loading.then(([stage]) => {
    if (newest.get(parentElement) === component) stage.render(component, assets)
  })
  return () => {
    newest.delete(parentElement)
    loading.then(([stage]) => stage.remove(parentElement))
  }
}

const newest = new WeakMap()

/** The stage's style in the head of the page, once. */
function style(address) {
  if (!styled.has(address)) {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: address })
    styled.set(address, new Promise((done) => (link.onload = link.onerror = done)))
    document.head.append(link)
  }
  return styled.get(address)
}
