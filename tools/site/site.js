// Search, the switch between light and dark, and buttons that copy commands. The pages work without any of it.
"use strict";

const back = document.currentScript ? document.currentScript.dataset.back : "";

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch (_) { /* kept for this page only */ }
}

function addCopyButtons() {
  if (!navigator.clipboard) return;
  for (const block of document.querySelectorAll(".block.sh")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "copy";
    button.onclick = async () => {
      await navigator.clipboard.writeText(block.querySelector("code").textContent);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    };
    block.append(button);
  }
}

// The index is fetched when somebody begins to search: as a script, because pages opened from a disk may not fetch files.
let loading = null;
function loadIndex() {
  loading = loading || new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = back + "search-index.js";
    script.onload = () => done(window.searchIndex);
    script.onerror = failed;
    document.head.append(script);
  });
  return loading;
}

function count(text, word) {
  let found = 0;
  for (let at = text.indexOf(word); at >= 0 && found < 5; at = text.indexOf(word, at + word.length)) ++found;
  return found;
}

// Every word has to occur; in a heading it counts most, then in the page's title, then in the text. Zero is no hit.
function score(entry, words, isCode) {
  entry.lower = entry.lower || { page: entry.page.toLowerCase(), heading: entry.heading.toLowerCase(), text: entry.text.toLowerCase() };
  let sum = 0;
  for (const word of words) {
    const points = 12 * count(entry.lower.heading, word) + 8 * count(entry.lower.page, word) + count(entry.lower.text, word);
    if (points === 0) return 0;
    sum += points;
  }
  if (entry.url.startsWith("api/")) {  // first for who typed a name of the library, behind the guides for others
    const names = entry.lower.heading.split(", ").map((name) => name.split("::").pop());
    return isCode && words.every((word) => names.includes(word.split("::").pop())) ? 2 * sum : sum / 6;
  }
  return entry.url.includes("/adr/") ? sum / 4 : sum;  // reasons come after the things themselves
}

function excerpt(entry, words) {
  const first = Math.min(...words.map((word) => entry.lower.text.indexOf(word)).filter((place) => place >= 0));
  const from = Number.isFinite(first) ? Math.max(0, first - 40) : 0;
  return (from > 0 ? "... " : "") + entry.text.slice(from, from + 130);
}

function show(list, entries, words) {
  list.replaceChildren(...entries.map((entry) => {
    const item = document.createElement("li"), link = document.createElement("a"), name = document.createElement("strong"), text = document.createElement("small");
    link.href = back + entry.url;
    name.textContent = entry.heading ? `${entry.page} \u203a ${entry.heading}` : entry.page;
    text.textContent = excerpt(entry, words);
    link.append(name, text);
    item.append(link);
    return item;
  }));
  if (entries.length === 0) list.textContent = "nothing found";
  list.hidden = false;
}

async function search(input, list) {
  const words = input.value.toLowerCase().split(/\s+/).filter((word) => word.length > 0);
  if (words.length === 0) { list.hidden = true; return; }
  const isCode = /[A-Z_]|::/.test(input.value);
  const index = await loadIndex();
  const hits = index.map((entry) => ({ entry, points: score(entry, words, isCode) })).filter((hit) => hit.points > 0);
  hits.sort((left, right) => right.points - left.points);
  show(list, hits.slice(0, 12).map((hit) => hit.entry), words);
}

function move(list, by) {
  const links = [...list.querySelectorAll("a")];
  const next = (links.findIndex((link) => link.classList.contains("chosen")) + by + links.length) % links.length;
  links.forEach((link, place) => link.classList.toggle("chosen", place === next));
  if (links[next]) links[next].scrollIntoView({ block: "nearest" });
}

function addSearch() {
  const input = document.getElementById("search"), list = document.getElementById("found");
  input.addEventListener("input", () => search(input, list));
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { move(list, event.key === "ArrowDown" ? 1 : -1); event.preventDefault(); }
    if (event.key === "Escape") { list.hidden = true; input.blur(); }
    if (event.key === "Enter") { const link = list.querySelector("a.chosen") || list.querySelector("a"); if (link) location.href = link.href; }
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) list.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !["INPUT", "TEXTAREA"].includes(document.activeElement.tagName)) { input.focus(); event.preventDefault(); }
  });
  const asked = new URLSearchParams(location.search).get("search");
  if (asked) { input.value = asked; search(input, list); }
}

document.getElementById("theme").onclick = switchTheme;
addCopyButtons();
addSearch();
const column = document.querySelector("nav"), current = column.querySelector("a[aria-current]");
if (current) column.scrollTop = current.offsetTop - column.clientHeight / 3;  // the column only, not the page
