// Brings a part of the page into view once what it shows is something else: on a phone it may stand a screen away from
// the button that changed it.

const shown = new WeakMap()

export default function ({ parentElement, data }) {
  const before = shown.get(parentElement)
  shown.set(parentElement, data)
  if (before === undefined || before === data) return
  const { top } = parentElement.getBoundingClientRect()
  if (top < 0 || top > window.innerHeight / 2) parentElement.scrollIntoView({ block: "start" })
}
