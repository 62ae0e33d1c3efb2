// Keeps the address bar at the view on screen. Streamlit's own writing of query parameters adds an entry to the
// browser's history each time and drops parameters it does not know; this replaces the address, and leaves `beat`,
// which belongs to the plot component, where it stands.

export default function ({ data }) {
  document.documentElement.lang = data.lang === "zh" ? "zh-CN" : "en"
  if (location.pathname.replace(/\/$/, "") !== data.path.replace(/\/$/, "")) return
  const params = new URLSearchParams(data.params)
  const beat = new URLSearchParams(location.search).get("beat")
  if (beat && data.beats) params.set("beat", beat)
  const search = `?${params}`
  if (search !== location.search) history.replaceState(history.state, "", location.pathname + search + location.hash)
}
