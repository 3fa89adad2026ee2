// Zooms and moves the timeline: everything with data-a and data-b stands where its instants are.
(function () {
  const CHARACTER = 7.4; // room for a character of a label
  const TICKS = 8;
  const LEAST_US = 50; // no closer than that
  const picture = document.getElementById("timeline");
  const { left, width, bottom, end, lo, hi } = Object.fromEntries(
    Object.entries(picture.dataset).map(([name, text]) => [name, Number(text)])
  );
  let from = lo;
  let until = hi;

  const x = (at) => left + ((at - from) / (until - from)) * width;
  const inside = (place) => Math.max(left, Math.min(left + width, place));

  function draw() {
    const rows = new Map(); // the labels that are shown, by their height
    for (const mark of picture.querySelectorAll("[data-a]")) {
      const a = Number(mark.dataset.a);
      const b = Number(mark.dataset.b);
      const hidden = b < from || a > until;
      const place = inside(x(a));
      if (mark.tagName === "rect") {
        mark.setAttribute("x", place);
        mark.setAttribute("width", Math.max(2, inside(x(b)) - place));
      } else if (mark.tagName === "line") {
        mark.setAttribute("x1", place);
        mark.setAttribute("x2", place);
      } else {
        const begins = Math.min(place, left + width - mark.textContent.length * CHARACTER);
        mark.setAttribute("x", begins);
        const row = mark.getAttribute("y");
        if (!hidden) rows.set(row, [...(rows.get(row) || []), { begins, mark }]);
      }
      mark.setAttribute("visibility", hidden ? "hidden" : "visible");
    }
    rows.forEach(hideOverlaps);
    drawTicks();
  }

  function hideOverlaps(labels) {
    let taken = 0;
    labels.sort((one, other) => one.begins - other.begins);
    for (const { begins, mark } of labels) {
      if (begins < taken) mark.setAttribute("visibility", "hidden");
      else taken = begins + (mark.textContent.length + 1) * CHARACTER;
    }
  }

  function drawTicks() {
    const ticks = [];
    for (let i = 0; i < TICKS; i++) {
      const at = from + ((until - from) / TICKS) * i;
      const place = x(at);
      ticks.push(
        `<line class="tick" x1="${place}" x2="${place}" y1="14" y2="${bottom}"/>`,
        `<text class="time" x="${place + 2}" y="11">${(at / 1000).toFixed(1)} ms</text>`
      );
    }
    document.getElementById("ticks").innerHTML = ticks.join("");
  }

  function show(begin, finish) {
    from = begin;
    until = Math.max(finish, begin + LEAST_US);
    draw();
  }

  function zoom(factor, about = (from + until) / 2) {
    show(about - (about - from) * factor, about + (until - about) * factor);
  }

  function instant(event) {
    const box = picture.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
    return from + ((place - left) / width) * (until - from);
  }

  picture.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, instant(event));
    },
    { passive: false }
  );
  let held = null; // the instant under the mouse; a finger scrolls the page
  picture.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse") held = instant(event);
  });
  addEventListener("pointerup", () => { held = null; });
  picture.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const by = held - instant(event);
    show(from + by, until + by);
  });
  document.getElementById("whole").onclick = () => show(0, end);
  document.getElementById("this").onclick = () => show(lo, hi);
  document.getElementById("closer").onclick = () => zoom(0.5);
  document.getElementById("wider").onclick = () => zoom(2);
})();
