// On a phone the drawer covers the page: it closes once a page was chosen in it, and a page that is
// opened anew, by a link or a reload, starts with it closed, however it was left.

const PHONE = matchMedia("(max-width: 640px)")
let begun = false

const close = () => {
  const drawer = document.querySelector("[data-testid=stSidebar]")
  if (!PHONE.matches || !drawer || drawer.getBoundingClientRect().right <= 0) return
  drawer.querySelector("[data-testid=stSidebarCollapseButton] button")?.click()
}

document.addEventListener("click", ({ target }) => {
  if (target.closest?.("[data-testid=stSidebarNavLink]")) setTimeout(close, 0) // after the page has taken the click
})

export default function () {
  if (!begun) setTimeout(close, 0)
  begun = true
}
