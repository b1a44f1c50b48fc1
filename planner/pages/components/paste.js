// Hands over what is pasted into a config's text area at once: Streamlit waits until the focus leaves it.

document.addEventListener("paste", ({ target }) => {
  const area = target.closest?.(".st-key-config-text textarea")
  if (!area) return
  setTimeout(() => {
    area.blur()
    area.focus()
  }, 50) // after the page has taken the paste
})

export default () => {}
