// Copies a chart to the clipboard as the picture that the server draws of it: on white, with its
// title, inputs and link. Browsers copy pictures only over https (and on this machine); elsewhere,
// as in a classroom's own network, the picture is saved as a file.

export default function ({ data, parentElement }) {
  const said = parentElement.querySelector("[role=status]")
  const folder = location.pathname.slice(0, location.pathname.lastIndexOf("/") + 1)

  const buttons = data.charts.map(({ title, name }) => {
    const button = document.createElement("button")
    button.type = "button"
    button.textContent = title
    button.onclick = async () => {
      said.textContent = "Drawing it …"
      const picture = draw(`${folder}api/${data.of}/${name}.png?${data.query}`)
      try {
        said.textContent = (await copied(picture)) ? "Copied." : await saved(picture, `${name}.png`)
      } catch (problem) {
        said.textContent = `This did not work: ${problem.message}`
      }
    }
    return button
  })
  parentElement.querySelector(".charts").replaceChildren(...buttons)
}

async function draw(address) {
  const answer = await fetch(address)
  if (answer.ok) return answer.blob()
  throw new Error(answer.statusText || `the server answered ${answer.status}.`)
}

async function copied(picture) {
  if (!navigator.clipboard?.write) return false
  // The picture is promised, not awaited: a browser may take only what is asked for in the click.
  const item = new ClipboardItem({ "image/png": picture })
  return navigator.clipboard.write([item]).then(() => true, () => false)
}

async function saved(picture, name) {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(await picture)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  return "Saved as a file; this browser does not copy images here."
}
