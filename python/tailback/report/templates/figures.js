(() => {
  // Figures become interactive when they come into view; until then, without scripts, and in print, the picture stands.
  const INK = "#1d1d22";
  const NARROW = 560;
  const root = document.documentElement;

  const unpack = async (id) => {
    const text = document.querySelector(`script[data-packed="${CSS.escape(id)}"]`).textContent;
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };

  let library;
  const plotly = () => library ??= unpack("plotly").then((code) => {
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
    return window.Plotly;
  });

  const colours = () => {
    const style = getComputedStyle(root);
    const read = (name) => style.getPropertyValue(name).trim();
    return { ink: read("--ink"), soft: read("--soft"), line: read("--line"), card: read("--card") };
  };

  // On several lines what is longer than so many letters: broken after spaces and hyphens, and within words that have none.
  const folded = (text, letters) => text.split("<br>").flatMap((line) => {
    if (line.length <= letters || line.includes("<")) return [line];
    const lines = [""];
    for (const word of line.match(/[^\s-]*(?:-+|\s+)|[^\s-]+/g)) {
      for (const part of word.match(new RegExp(`.{1,${letters}}`, "g"))) {
        if (lines.at(-1) && lines.at(-1).length + part.trimEnd().length > letters) lines.push("");
        lines[lines.length - 1] += part;
      }
    }
    return lines.map((each) => each.trimEnd());
  }).join("<br>");
  const LETTER = { legend: 6.4, note: 6.6 };
  const isTitle = (note) => note.captureevents === false;
  // The titles of panels: a note beside one of several lines stands on the last of them.
  const titles = (plot, letters) => plot.layout.annotations.map((note) => {
    if (!isTitle(note) || note.xanchor !== "left") return note;
    const text = folded(note.text, letters);
    const beside = plot.layout.annotations.some((other) => isTitle(other) && other.xanchor === "right" && other.yref === note.yref);
    return { ...note, align: "left", text: text !== note.text && beside ? `${text}<br> ` : text };
  });

  // Where the panels stand: as in the picture, or one below the other where the page is narrow.
  const placed = (plot, width) => {
    const stacked = width < NARROW && plot.columns > 1;
    const rows = stacked ? plot.panels.length : plot.rows;
    const ratios = stacked ? plot.panels.map(() => 1) : plot.heights;
    const inner = stacked ? 190 * rows : Math.max(plot.height * 0.85, 130 * rows);
    const height = inner + 90;
    // What stands between two panels, below the one and above the other.
    const inside = plot.panels.filter((panel, index) => (stacked ? index : panel.row) < rows - 1);
    const told = inside.map((panel) => plot.layout[`xaxis${panel.suffix}`]);
    const labelled = stacked || told.some((axis) => axis.showticklabels !== false);
    const named = told.some((axis) => axis.title);
    const gap = rows > 1 ? (14 + (labelled ? 22 : 0) + (named ? 20 : 0) + 16 * plot.titled) / inner : 0;
    const between = 0.055;
    const total = ratios.reduce((sum, ratio) => sum + ratio, 0);
    const free = 1 - gap * (rows - 1);
    const tops = [];
    let top = 1;
    for (const ratio of ratios) { tops.push(top); top -= free * ratio / total + gap; }
    const axes = {};
    plot.panels.forEach((panel, index) => {
      const row = stacked ? index : panel.row;
      const columns = stacked ? 1 : plot.columns;
      const each = (1 - between * (columns - 1)) / columns;
      const left = stacked ? 0 : panel.column * (each + between);
      axes[`xaxis${panel.suffix}`] = { domain: [left, left + each] };
      axes[`yaxis${panel.suffix}`] = { domain: [Math.max(0, tops[row] - free * ratios[row] / total), tops[row]] };
    });
    return { axes, height, stacked, inner };
  };

  // The legend of the marks, if there is one, stands below that of the colours: how high it is shows when it is drawn. The panels
  // get lower by what legends need, and heights are told in theirs, so that this takes a few rounds.
  const apart = async (Plotly, target) => {
    for (let round = 0; round < 4; round += 1) {
      const below = target.querySelector("g.legend2");
      if (!below) return;
      const { legend2, _size: size } = target._fullLayout;
      const y = legend2.y + below.getBoundingClientRect().height / size.h;
      if (Math.abs(y - target._fullLayout.legend.y) * size.h < 1) return;
      await Plotly.relayout(target, { "legend.y": y });
    }
  };

  const draw = async (figure) => {
    const Plotly = await plotly();
    const { ink, soft, line, card } = colours();
    const text = figure.querySelector("script[data-for]").textContent.replaceAll(INK, ink);
    const plot = JSON.parse(text);
    const target = figure.querySelector(".plot");
    figure.querySelector(".still").classList.add("replaced");
    target.hidden = false;
    const width = target.clientWidth;
    const narrow = width < NARROW;
    const abreast = narrow ? 1 : plot.columns;
    plot.layout.annotations = titles(plot, Math.floor((width / abreast - 60) / LETTER.note));
    // So many lines the highest title has.
    plot.titled = Math.max(0, ...plot.layout.annotations.filter(isTitle).map((note) => note.text.split("<br>").length));
    for (const trace of plot.data) if (trace.name) trace.name = folded(trace.name, Math.floor((width - 70) / LETTER.legend));
    const { axes, height, stacked, inner } = placed(plot, width);
    const legend = { ...plot.layout.legend, orientation: "h", x: 0, y: 1 + (6 + 16 * plot.titled) / inner, xanchor: "left", yanchor: "bottom", font: { size: narrow ? 11 : 12 } };
    const layout = {
      ...plot.layout,
      annotations: plot.layout.annotations.map((note) => (note.name === "backed" ? { ...note, bgcolor: card } : note)),
      height,
      autosize: true,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif", size: narrow ? 11 : 12, color: ink },
      margin: { l: 8, r: 8, t: 14 + 16 * plot.titled, b: 8 },
      legend,
      legend2: { ...legend },
      // A finger scrolls the page; a pointer draws a box to zoom into.
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      hovermode: "closest",
      hoverlabel: { bgcolor: card, bordercolor: line, font: { color: ink } },
      barmode: "overlay",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink },
    };
    const common = {
      gridcolor: line, linecolor: soft, zeroline: false, showline: true, ticks: "outside", ticklen: 4, tickcolor: soft,
      automargin: true, exponentformat: "power", minexponent: 4,
    };
    for (const panel of plot.panels) {
      for (const name of [`xaxis${panel.suffix}`, `yaxis${panel.suffix}`]) {
        const axis = { ...common, ...plot.layout[name], ...axes[name] };
        // (A distance for titles below would be measured from labels that may not stand there yet.)
        const standoff = name.startsWith("y") ? { standoff: 6 } : {};
        if (axis.title) axis.title = { ...axis.title, ...standoff, font: { size: narrow ? 11 : 12 } };
        if (stacked) axis.showticklabels = true;
        if (axis.type === "log" && !axis.tickvals) axis.dtick = Math.abs(axis.range[1] - axis.range[0]) > 1.2 ? 1 : undefined;
        layout[name] = axis;
      }
    }
    for (const trace of plot.data) {
      const bar = trace.colorbar ?? trace.marker?.colorbar;
      if (bar) Object.assign(bar, { outlinewidth: 0, thickness: 12, ticks: "outside", ticklen: 3 });
    }
    const config = {
      responsive: true, displaylogo: false, showSendToCloud: false, displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: figure.dataset.plot.replaceAll("/", "-") },
    };
    await Plotly.react(target, plot.data, layout, config);
    await apart(Plotly, target);
    figure.dataset.drawn = narrow ? "narrow" : "wide";
  };

  const figures = [...document.querySelectorAll("figure[data-plot]")];
  const usable = typeof DecompressionStream === "function" && typeof IntersectionObserver === "function";
  if (usable && figures.length) {
    const fail = (figure) => (error) => {
      // The picture comes back; the reason is for whoever looks.
      figure.querySelector(".plot").hidden = true;
      figure.querySelector(".still").classList.remove("replaced");
      console.error(error);
    };
    const watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        watch.unobserve(target);
        draw(target).catch(fail(target));
      }
    }, { rootMargin: "400px" });
    for (const figure of figures) watch.observe(figure);
    const again = () => figures.filter((figure) => figure.dataset.drawn).forEach((figure) => draw(figure).catch(fail(figure)));
    new MutationObserver(again).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    addEventListener("resize", () => {
      for (const figure of figures) {
        const kind = figure.querySelector(".plot").clientWidth < NARROW ? "narrow" : "wide";
        if (figure.dataset.drawn && figure.dataset.drawn !== kind) draw(figure).catch(fail(figure));
      }
    });
  }

  // Downloads come out of the page itself, so that the page alone can be passed on.
  const save = (name, kind, content) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: kind }));
    link.download = name.split("/").at(-1);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  if (typeof DecompressionStream === "function") {
    for (const link of document.querySelectorAll("a[data-packed]")) {
      link.addEventListener("click", async (event) => {
        event.preventDefault();
        save(link.getAttribute("href"), "text/csv", await unpack(link.dataset.packed));
      });
    }
  }
  for (const link of document.querySelectorAll("a.svg")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const picture = link.closest("figure").querySelector(".still svg").cloneNode(true);
      picture.style.color = INK;
      save(link.getAttribute("href"), "image/svg+xml", new XMLSerializer().serializeToString(picture));
    });
  }
})();
