"""What a look at the page would find wrong with its layout, found by measuring boxes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from tests.browser.screen import Screen

SIZES = ((1280, 720), (1920, 1080), (390, 844))

FAULTS = """(fits) => {
    const faults = [];
    const name = (node) => (node.getAttribute("aria-label") || node.innerText || node.className || node.tagName)
        .toString().trim().replace(/\\s+/g, " ").slice(0, 30);
    const seen = (node) => {
        const box = node.getBoundingClientRect();
        return box.width > 0 && box.height > 0 && getComputedStyle(node).visibility !== "hidden";
    };
    const all = (selector, root = document) => [...root.querySelectorAll(selector)].filter(seen);
    const one = (selector) => all(selector)[0];
    const overlap = (a, b) => {
        const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
        const width = Math.min(p.right, q.right) - Math.max(p.left, q.left);
        const height = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
        return width > 1.5 && height > 1.5;
    };
    const apart = (nodes) => nodes.forEach((a, i) => nodes.slice(i + 1).forEach((b) => {
        if (!a.contains(b) && !b.contains(a) && overlap(a, b)) faults.push(`“${name(a)}” lies over “${name(b)}”`);
    }));

    const main = document.querySelector("[data-testid=stMain]");
    for (const node of [document.documentElement, main])
        if (node.scrollWidth > node.clientWidth + 1)
            faults.push(`the page is ${node.scrollWidth} px wide in ${node.clientWidth}`);
    for (const node of all("h1, h2, h3, p, button, a, input", main)) {
        const box = node.getBoundingClientRect();
        if (node.closest(".ap-scrolls, .atlas-table, .atlas-source, [data-testid=stDataFrame]")) continue;
        if (box.left < -1 || box.right > innerWidth + 1) faults.push(`“${name(node)}” leaves the page`);
    }

    const bar = ".st-key-atlas-bar", controls = ".st-key-atlas-controls", dock = ".ap-dock";
    apart(all(`${bar} h1, ${bar} button, ${bar} a`));
    apart(all(`${controls} [data-testid=stSelectbox], ${controls} [data-testid=stTextInput], ${controls} button[kind],
        ${controls} [data-testid=stButtonGroup]`));
    apart(all(`${dock} .ap-transport > *`));
    apart(all(`${dock} .ap-dot b`));
    apart(all(`${dock} .ap-title, ${dock} .ap-sentence, ${dock} .ap-equation, ${dock} .ap-transport`));
    apart([bar, controls, ".ap-stage"].map(one).filter(Boolean));

    const stage = one(".ap-stage");
    if (stage) {
        const edge = stage.getBoundingClientRect();
        const tokens = all(".infolayer .annotation-text", stage);
        const turn = (node) => node.closest(".annotation-text-g").getAttribute("transform");
        if (tokens.every((node) => turn(node).startsWith("rotate(0"))) apart(tokens);
        if (!stage.classList.contains("ap-scrolls"))
            for (const node of all("svg text", stage)) {
                const box = node.getBoundingClientRect();
                if (box.left < edge.left - 2 || box.right > edge.right + 2 || box.top < edge.top - 2)
                    faults.push(`“${name(node)}” leaves the sheet`);
            }
        if (fits) {
            const words = one(dock).getBoundingClientRect();
            if (words.bottom > innerHeight + 1) faults.push(`the slider ends at ${words.bottom} of ${innerHeight}`);
            const hidden = edge.bottom - words.top;
            if (hidden > 1) faults.push(`the caption hides ${hidden} px of the sheet`);
            const notes = one(".ap-aside")?.getBoundingClientRect().bottom ?? 0;
            if (notes > words.top + 1) faults.push(`the notes run ${notes - words.top} px into the caption`);
        }
    }
    return [...new Set(faults)];
}"""

SIZES_ON_STAGE = """() => {
    const figure = document.querySelector(".atlas-plot .ap-figure");
    const scale = figure.getBoundingClientRect().width / figure.layout.width;
    const size = (node) => parseFloat(getComputedStyle(node).fontSize);
    const smallest = (selector) =>
        Math.min(...[...figure.querySelectorAll(selector)].filter((node) => node.textContent.trim()).map(size)) * scale;
    const cells = figure.data.flatMap((trace, index) =>
        trace.mode?.includes("text") && trace.customdata?.length && trace.type === "scatter" ? [index] : []);
    return {
        caption: size(document.querySelector(".ap-sentence")),
        tokens: smallest(".infolayer .annotation-text"),
        cells: Math.min(...cells.map((index) => figure._fullData[index].textfont.size)) * scale,
    };
}"""


@dataclass(frozen=True)
class Look:
    """One way the app can look: a screen's path and parameters, and what surrounds it."""

    screen: str
    lang: str
    theme: str
    talk: bool
    size: tuple[int, int]

    @property
    def name(self) -> str:
        width, height = self.size
        return f"{self.screen}-{self.lang}-{self.theme}{'-talk' if self.talk else ''}-{width}x{height}"

    @property
    def fits(self) -> bool:
        """Whether figure, caption and slider have to be on the page together: on a laptop, and on stage."""
        return self.screen.startswith("attention") and self.size == (
            (1920, 1080) if self.talk else (1280, 720)
        )


def looks(screens: list[str]) -> list[Look]:
    """All of them."""
    return [Look(*one) for one in product(screens, ("en", "zh"), ("light", "dark"), (False, True), SIZES)]


def show(tab: Screen, look: Look, path: str, **params: str) -> Screen:
    """Open `path` in the manner of `look`, at rest."""
    width, height = look.size
    tab.page.set_viewport_size({"width": width, "height": height})
    tab.page.emulate_media(color_scheme="dark" if look.theme == "dark" else "light", reduced_motion="reduce")
    return tab.open(path, lang=look.lang, **params, **({"talk": "1"} if look.talk else {}))


def faults(tab: Screen, fits: bool) -> list[str]:
    """What is wrong with the layout on screen; `fits` when the figure has to be there whole, with its caption."""
    return tab.page.evaluate(FAULTS, fits)


def sizes(tab: Screen) -> dict[str, float]:
    """Pixels on screen of the caption's words, the smallest token, the smallest number in a cell."""
    return tab.page.evaluate(SIZES_ON_STAGE)
