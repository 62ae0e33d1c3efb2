// Keeps the address bar at the view on screen. Streamlit's own writing of query parameters adds an entry to the
// browser's history each time and drops parameters it does not know; this replaces the address, and leaves `beat`,
// which belongs to the plot component, where it stands.

export default function ({ data }) {
  const { lang, path, beats, params: shown } = JSON.parse(data)
  document.documentElement.lang = lang === "zh" ? "zh-CN" : "en"
  if (location.pathname.replace(/\/$/, "") !== path.replace(/\/$/, "")) return
  const params = new URLSearchParams(shown)
  const beat = new URLSearchParams(location.search).get("beat")
  if (beat && beats) params.set("beat", beat)
  const search = `?${params}`
  if (search !== location.search) history.replaceState(history.state, "", location.pathname + search + location.hash)
}
