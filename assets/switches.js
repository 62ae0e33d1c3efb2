// What the header does without the server: light or dark, copying the link, and the key that opens the text field.
//
// Streamlit can be switched between its two themes only from its own menu, which this app does not show. What the menu
// calls is a function in React's tree; it is looked up there and called, so the page stays as it is. Should another
// version of Streamlit hide it, the choice is stored where Streamlit looks for it at start, and the page loads again.

const THEMES = { light: "Light", dark: "Dark" }

function shown() {
  return getComputedStyle(document.querySelector(".stApp")).colorScheme.includes("dark") ? "dark" : "light"
}

function themeProps() {
  const root = document.querySelector(".stApp")
  const fiberKey = Object.keys(root).find((key) => key.startsWith("__reactFiber$"))
  for (let fiber = root[fiberKey]; fiber; fiber = fiber.return) {
    const theme = fiber.memoizedProps?.theme
    if (theme?.setTheme && theme?.availableThemes) return theme
  }
  return undefined
}

function show(theme, paths) {
  for (const path of paths) localStorage.setItem(`stActiveTheme-${path}-v2`, JSON.stringify(THEMES[theme]))
  const props = themeProps()
  const wanted = props?.availableThemes.find((one) => one.name.endsWith(THEMES[theme]))
  if (wanted) props.setTheme(wanted)
  else location.reload()
}

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  // Not a secure context (the app opened under a host name): the old way still works there.
  const field = document.body.appendChild(document.createElement("textarea"))
  field.value = text
  field.select()
  document.execCommand("copy")
  field.remove()
}

function isTyping(element) {
  return element?.matches?.("input:not([type=range]):not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]")
}

// "/" brings the page's text field to the front, large in talk mode (style.css). Enter takes what was typed, Escape what
// was there before; both give the keyboard back to the figure.
function onKey(event) {
  const field = document.querySelector(".st-key-atlas-text input")
  if (!field) return
  if (document.activeElement === field) {
    if (event.key === "Escape") put(field, field.dataset.before)
    if (event.key === "Enter" || event.key === "Escape") setTimeout(() => field.blur())
    return
  }
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey
  if (event.code !== "Slash" || !plain || isTyping(document.activeElement)) return
  event.preventDefault()
  document.body.classList.add("atlas-typing")
  field.focus()
  field.select()
  field.addEventListener("blur", () => document.body.classList.remove("atlas-typing"), { once: true })
}

// However the field was come by, what it held then is what Escape puts back.
function entered(event) {
  if (event.target.closest?.(".st-key-atlas-text input")) event.target.dataset.before = event.target.value
}

// A picker keeps the focus after a choice, and with it the keys; once it has closed it gives them back to the figure.
function chosen(event) {
  const key = event.type === "keydown" && ["Enter", "Escape"].includes(event.key)
  if (key || event.target.closest?.("[role=option]")) setTimeout(() => leavePicker(20), 50)
}

function leavePicker(tries) {
  const picker = document.activeElement
  if (picker?.getAttribute("role") !== "combobox" || tries === 0) return
  if (picker.getAttribute("aria-expanded") === "true") setTimeout(() => leavePicker(tries - 1), 50)
  else picker.blur()
}

// React listens to its own setter; the element's is asked for the value, the event tells React.
function put(field, value) {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, value)
  field.dispatchEvent(new Event("input", { bubbles: true }))
}

// Streamlit's link to the default page is "?…", which in a new tab would open the page it stands on.
function mend(event) {
  const link = event.target.closest?.('.stPageLink a[href^="?"]')
  link?.setAttribute("href", `./${link.getAttribute("href")}`)
}

function build(parent) {
  const themeButton = document.createElement("button")
  const linkButton = document.createElement("button")
  const told = document.createElement("span")
  for (const button of [themeButton, linkButton]) button.type = "button"
  told.className = "atlas-told"
  told.setAttribute("role", "status")
  const lost = document.createElement("p") // style.css shows it when the server is gone, which could not say so
  lost.className = "atlas-lost"
  lost.setAttribute("role", "alert")
  parent.append(themeButton, linkButton, told, lost)
  return { themeButton, linkButton, told, lost }
}

const built = new WeakMap()

export default function ({ parentElement, data, setTriggerValue }) {
  if (!built.has(parentElement)) built.set(parentElement, build(parentElement))
  const { themeButton, linkButton, told, lost } = built.get(parentElement)
  const words = JSON.parse(data)
  const label = () => {
    themeButton.textContent = shown() === "dark" ? words.light : words.dark
  }
  label()
  linkButton.textContent = words.link
  lost.textContent = words.lost
  themeButton.onclick = () => {
    const wanted = shown() === "dark" ? "light" : "dark"
    show(wanted, words.paths)
    requestAnimationFrame(label)
    // The page itself has changed; its figures are drawn for one theme and follow with a run.
    setTimeout(() => setTriggerValue("theme", wanted), 50)
  }
  linkButton.onclick = async () => {
    await copy(location.href)
    told.textContent = words.copied
    setTimeout(() => (told.textContent = ""), 2000)
  }
  const listeners = [["keydown", onKey], ["keydown", chosen], ["pointerup", chosen], ["pointerover", mend], ["focusin", entered]]
  for (const [name, listener] of listeners) document.addEventListener(name, listener)
  return () => {
    for (const [name, listener] of listeners) document.removeEventListener(name, listener)
  }
}
