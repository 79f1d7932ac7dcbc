"use strict";
(() => {
  const root = document.documentElement;
  const stored = (() => { try { return localStorage.getItem("tailback-theme"); } catch { return null; } })();
  if (stored) root.dataset.theme = stored;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("tailback-theme", root.dataset.theme); } catch { /* a page opened from disk may have no storage */ }
  });

  const search = document.getElementById("search");
  const found = [...document.querySelectorAll(".find")];
  const text = new Map(found.map((element) => [element, element.textContent.toLowerCase()]));
  const articles = found.filter((element) => element.tagName === "ARTICLE");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (element) => words.every((word) => text.get(element).includes(word));
    const shown = new Set(articles.filter(matches).map((article) => article.id));
    for (const element of found) {
      // A row of the summary follows its article, so that parameters find it too.
      const follows = element.dataset.for;
      element.hidden = words.length > 0 && !(follows ? shown.has(follows) : matches(element));
    }
    // Parameters are folded away until they are what is looked for.
    for (const folded of document.querySelectorAll("details.parameters")) {
      const said = folded.textContent.toLowerCase();
      folded.open = words.length > 0 && words.some((word) => said.includes(word));
    }
    for (const details of document.querySelectorAll("#planned details, #validation details")) {
      const any = [...details.querySelectorAll(".find")].some((row) => !row.hidden);
      details.hidden = !any;
      details.open = words.length > 0 && any;
    }
    document.getElementById("nothing").hidden = shown.size > 0 || articles.length === 0;
  });

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(code);
      }
    });
  }
})();
