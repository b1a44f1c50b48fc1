// On a phone the drawer covers the page: it closes once a page was chosen in it, and a page that is
// opened anew, by a link or a reload, starts with it closed, however it was left. While it is open
// the verdict behind it is said at its foot, where it is seen together with what is moved.

const PHONE = matchMedia("(max-width: 640px)")
const FOLLOWS_MS = 100
let begun = false
let timer = null

/** The drawer while it covers a phone's page, else null. */
const opened = () => {
  const drawer = document.querySelector("[data-testid=stSidebar]")
  return PHONE.matches && drawer && drawer.getBoundingClientRect().right > 0 ? drawer : null
}

const close = () => opened()?.querySelector("[data-testid=stSidebarCollapseButton] button")?.click()

const foot = Object.assign(document.createElement("div"), { className: "drawer-verdict", hidden: true })
foot.setAttribute("aria-hidden", "true") // the stage itself is read aloud
document.body.append(foot)

const tell = () => {
  const stage = document.querySelector(".stage")
  const drawer = opened()
  foot.hidden = !drawer || !stage?.dataset.state
  if (foot.hidden) return
  const said = stage.querySelector("h1").textContent
  foot.dataset.state = stage.dataset.state
  foot.style.width = `${drawer.getBoundingClientRect().right}px`
  if (foot.textContent !== said) foot.textContent = said
}

const follow = () => {
  clearInterval(timer)
  foot.hidden = true
  if (PHONE.matches) timer = setInterval(tell, FOLLOWS_MS)
}
PHONE.addEventListener("change", follow)
follow()

document.addEventListener("click", ({ target }) => {
  if (target.closest?.("[data-testid=stSidebarNavLink]")) setTimeout(close, 0) // after the page has taken the click
})

export default function () {
  if (!begun) setTimeout(close, 0)
  begun = true
}
