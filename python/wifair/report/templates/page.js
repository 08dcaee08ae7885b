"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Light, dark.
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const set = document.documentElement.dataset.theme;
    const dark = set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("wifair-theme", document.documentElement.dataset.theme); } catch { /* no storage */ }
  });

  // Charts. Colours are the page's own variables, so that a change of theme needs no drawing anew.
  const soft = "var(--soft)", ink = "var(--ink)", line = "var(--line)";
  const font = getComputedStyle(document.body).fontFamily; // as it is: the widths of labels are measured with it
  const colours = Array.from({ length: 10 }, (_, i) => `var(--s${i + 1})`);
  const config = {
    background: null, font,
    view: { stroke: null },
    title: { anchor: "start", color: ink, fontSize: 13, fontWeight: 600, offset: 10 },
    axis: {
      labelColor: soft, titleColor: soft, domainColor: line, tickColor: line, gridColor: line, gridOpacity: 0.7,
      labelFontSize: 11, titleFontSize: 11.5, titleFontWeight: 400, labelLimit: 180, labelFlush: false,
    },
    axisBand: { grid: false },
    legend: { orient: "bottom", direction: "horizontal", columns: 2, labelColor: ink, titleColor: soft, labelFontSize: 11, labelLimit: 220, symbolOpacity: 1 },
    range: {
      category: colours,
      symbol: ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left"],
    },
    mark: { color: "var(--s2)" }, point: { color: "var(--s2)" }, line: { color: "var(--s2)" },
    bar: { color: "var(--s2)", stroke: "var(--paper)" }, rule: { color: ink }, text: { color: "var(--paper)" },
  };
  const drawn = all(".panel").map((panel) => {
    const spec = JSON.parse(panel.querySelector("script").textContent);
    return vegaEmbed(panel, spec, { config, renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false }, tooltip: { theme: "custom" } });
  });
  // Whoever looks at this page from outside (a test, a printer's script) can wait for that.
  window.wifairDrawn = Promise.all(drawn).then((views) => views.length);
  // A chart in a folded part has no width until that is opened.
  all("details").forEach((folded) => folded.addEventListener("toggle", () => dispatchEvent(new Event("resize"))));

  // Tables: a click on a heading sorts, a second one the other way.
  const value = (row, column) => {
    const cell = row.cells[column];
    const told = cell.dataset.sort ?? cell.textContent.trim();
    const number = told === "-inf" ? -Infinity : Number(told);
    return told !== "" && !Number.isNaN(number) ? number : told;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  all("table").forEach((table) => {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 2) return;
    const headings = all("thead th", table);
    headings.forEach((heading, column) => {
      heading.tabIndex = 0;
      heading.setAttribute("aria-sort", "none");
      const sort = () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        headings.forEach((other) => other.setAttribute("aria-sort", "none"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => compare(value(a, column), value(b, column)));
        body.append(...(down ? rows.reverse() : rows));
      };
      heading.addEventListener("click", sort);
      heading.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
      });
    });
  });

  // Verdicts: a badge of the tally narrows the table to its own.
  all(".tally button").forEach((badge) => badge.addEventListener("click", () => {
    const verdict = badge.getAttribute("aria-pressed") === "true" ? null : badge.dataset.verdict;
    all(".tally button").forEach((other) => other.setAttribute("aria-pressed", String(other.dataset.verdict === verdict)));
    all(".verdicts tbody tr").forEach((row) => { row.hidden = verdict !== null && row.querySelector(".badge").textContent !== verdict; });
    if (verdict && !badge.closest(".verdicts")) document.querySelector(".verdicts")?.scrollIntoView();
  }));

  // Commands and scenarios can be copied.
  all(".copy").forEach((button) => {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  });

  // The section that is read.
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) links.get(entry.target.id)?.classList.toggle("here", entry.isIntersecting);
  }, { rootMargin: "-10% 0px -70% 0px" });
  all("main section").forEach((section) => seen.observe(section));
})();
