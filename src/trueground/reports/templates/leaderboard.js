/* Sorting by a click on a column's head, and the theme. The page reads the same without it. */
"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true });

  function keyOf(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.value === undefined) return cell.textContent.trim();
    return cell.dataset.value === "" ? null : Number(cell.dataset.value);
  }

  /* What has no value comes last in both orders. */
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" ? a - b : collator.compare(a, b));
  }

  function sort(table, column, direction) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", direction);
    const sign = direction === "descending" ? -1 : 1;
    const keyed = [...table.tBodies[0].rows].map((row) => ({ row, key: keyOf(row, column) }));
    keyed.sort((a, b) => compare(a.key, b.key, sign));
    table.tBodies[0].append(...keyed.map(({ row }) => row));
  }

  function makeSortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "plain";
      if (!head.children.length) head.replaceChildren(Object.assign(document.createElement("span"), { textContent: head.textContent }));
      button.append(...head.childNodes);
      head.replaceChildren(button);
      const first = head.dataset.first ?? (head.classList.contains("num") ? "descending" : "ascending");
      const second = first === "ascending" ? "descending" : "ascending";
      button.addEventListener("click", () =>
        sort(table, column, head.getAttribute("aria-sort") === first ? second : first));
    });
  }

  document.querySelectorAll("table.sortable").forEach(makeSortable);
  const themes = ["auto", "light", "dark"];
  const theme = document.getElementById("theme");
  theme.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? "auto";
    const next = themes[(themes.indexOf(now) + 1) % themes.length];
    document.documentElement.dataset.theme = next;
    theme.textContent = `Theme: ${next}`;
  });
})();
