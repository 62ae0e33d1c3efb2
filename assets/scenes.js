// Shows one scene of a screen at a time: the number on the root element says which (style.css hides the others), keys and
// two buttons change it, and the link's `beat` follows. The keys are those of the plot component.

const root = document.documentElement

function typing(target) {
  return Boolean(target.closest?.("textarea, select, input:not([type=button]), [contenteditable=true], [role=combobox], [role=listbox]"))
}

class Scenes {
  constructor(parent) {
    this.parent = parent
    this.node = document.createElement("div")
    this.node.className = "atlas-steps"
    this.place = document.createElement("span")
    this.place.setAttribute("role", "status")
    this.back = this.button("‹", () => this.move(-1))
    this.forward = this.button("›", () => this.move(1))
    this.node.append(this.back, this.place, this.forward)
    parent.append(this.node)
    this.onKey = (event) => this.key(event)
    this.onEntry = () => this.write()
    document.addEventListener("keydown", this.onKey)
    window.navigation?.addEventListener("currententrychange", this.onEntry)
  }

  button(sign, onClick) {
    const node = document.createElement("button")
    node.type = "button"
    node.textContent = sign
    node.addEventListener("click", onClick)
    return node
  }

  /** Takes what the page says now; the scene stays, but for one that is gone. */
  show({ count, first, words }) {
    this.count = count
    this.back.setAttribute("aria-label", words.back)
    this.forward.setAttribute("aria-label", words.forward)
    this.go(this.at ?? (parseInt(first, 10) || 1))
  }

  move(by) {
    this.go(this.at + by)
  }

  go(number) {
    this.at = Math.max(1, Math.min(this.count, number))
    root.dataset.atlasScene = this.at
    this.place.textContent = `${this.at} / ${this.count}`
    this.back.disabled = this.at === 1
    this.forward.disabled = this.at === this.count
    this.write()
  }

  key(event) {
    if (!this.node.isConnected || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return
    const steps = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }
    if (event.key in steps) this.move(steps[event.key])
    else if (event.key === "Home") this.go(1)
    else if (event.key === "End") this.go(this.count)
    else if (event.key === " " && !event.target.closest?.("button, a, summary")) this.move(1)
    else if (/^[0-9]$/.test(event.key)) this.go(parseInt(event.key, 10) || 10)
    else return
    event.preventDefault()
  }

  /** The server's own writing of the link leaves the beat out. */
  write() {
    const url = new URL(location.href)
    if (!this.node.isConnected || url.searchParams.get("beat") === String(this.at)) return
    url.searchParams.set("beat", this.at)
    history.replaceState(history.state, "", url)
  }

  destroy() {
    document.removeEventListener("keydown", this.onKey)
    window.navigation?.removeEventListener("currententrychange", this.onEntry)
    delete root.dataset.atlasScene
  }
}

const mounted = new WeakMap()

export default function ({ parentElement, data }) {
  if (!mounted.has(parentElement)) mounted.set(parentElement, new Scenes(parentElement))
  mounted.get(parentElement).show(JSON.parse(data))
  // Called when the component goes, and on some runs when it does not: the page tells, a moment later.
  return () => setTimeout(() => {
    if (parentElement.isConnected) return
    mounted.get(parentElement)?.destroy()
    mounted.delete(parentElement)
  }, 0)
}
