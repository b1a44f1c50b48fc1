// A button that prints the page; its style sheet says what of it goes on paper.

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button")
  button.textContent = data.label
  button.onclick = () => print()
}
