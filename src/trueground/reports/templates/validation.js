
/* A link to what lies in something folded opens it; browsers that do so by themselves lose nothing. */
"use strict";
(() => {
  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    let shut = false;
    for (let e = target; e; e = e.parentElement) {
      if (e.tagName !== "DETAILS" || e.open) continue;
      e.open = true;
      shut = true;
    }
    if (shut) target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  reveal();
})();
