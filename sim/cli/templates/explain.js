// Steps through the picture by arrow keys, buttons or a click, and shows the state around each step.
(function () {
  const steps = [...document.querySelectorAll(".steps li")];
  const details = [...document.querySelectorAll("details")];
  for (const one of details) one.open = false; // without this script all of it is open
  addEventListener("beforeprint", () => details.forEach((one) => { one.open = true; }));
  if (!steps.length) return;

  const deltas = JSON.parse(document.getElementById("states").textContent);
  const panel = document.getElementById("panel");
  const around = document.getElementById("around");
  const words = document.getElementById("words");
  const cells = [...document.querySelectorAll("#state td")];
  const here = document.getElementById("here");
  const lanes = document.querySelector(".lanes");
  const space = document.getElementById("space");
  const middle = (step) => Number(step.dataset.top) + Number(step.dataset.height) / 2;
  const states = []; // of each step: the texts of all cells before it, and after it
  let texts = {};
  for (const [before, after] of deltas) {
    const from = { ...texts, ...before };
    texts = { ...from, ...after };
    states.push([from, texts]);
  }
  const asking = words.textContent;
  const below = () => getComputedStyle(space).display === "block"; // words are below the lanes
  const WORDS = 340; // px, what they need beside the lanes
  let chosen = -1;
  let zoom = 1;
  panel.hidden = false;

  function choose(number, { move = true } = {}) {
    chosen = Math.max(0, Math.min(steps.length - 1, number));
    const step = steps[chosen];
    for (const one of steps) one.removeAttribute("aria-current");
    step.setAttribute("aria-current", "step");
    here.setAttribute("y", step.dataset.top);
    here.setAttribute("height", step.dataset.height);
    const at = `Step ${chosen + 1} of ${steps.length}, ${step.dataset.at} ms: `;
    words.textContent = at + step.textContent.trim();
    show(...states[chosen]);
    around.hidden = false;
    history.replaceState(null, "", `#step=${chosen + 1}`);
    const dot = document.getElementById(`dot-${chosen + 1}`);
    if (move) dot.scrollIntoView({ block: "center", inline: below() ? "center" : "nearest" });
  }

  function show(before, after) {
    cells.forEach((cell, at) => {
      const same = before[at] === after[at];
      cell.textContent = same ? after[at] : `${before[at]} → ${after[at]}`;
      cell.className = same ? "" : "changed";
    });
  }

  function scale(factor) {
    zoom = Math.max(0.4, Math.min(3, zoom * factor));
    space.style.setProperty("--zoom", zoom);
    space.style.setProperty("--rows", zoom < 0.66 ? 1 : 2); // of the words of a step
  }

  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const stepping = chosen >= 0; // until then, and after Escape, up and down scroll the page
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: +stepping, ArrowUp: -stepping }[event.key];
    if (event.key === "Enter" && event.target.closest(".steps li")) {
      choose(steps.indexOf(event.target.closest(".steps li")));
    } else if (event.key === "Escape") {
      chosen = -1;
      around.hidden = true;
      here.setAttribute("height", 0);
      for (const one of steps) one.removeAttribute("aria-current");
      words.textContent = asking;
      history.replaceState(null, "", "#");
    } else if (by) {
      event.preventDefault();
      choose(chosen + by);
    }
  });
  document.getElementById("back").onclick = () => choose(chosen - 1);
  document.getElementById("next").onclick = () => choose(chosen + 1);
  document.getElementById("closer").onclick = () => scale(1.25);
  document.getElementById("wider").onclick = () => scale(0.8);
  space.addEventListener("click", (event) => {
    const y = (event.clientY - space.getBoundingClientRect().top) / zoom;
    const nearest = steps.reduce((best, one, at) =>
      Math.abs(middle(one) - y) < Math.abs(middle(steps[best]) - y) ? at : best, 0);
    const li = event.target.closest("li");
    choose(li ? steps.indexOf(li) : nearest, { move: false });
  });
  const room = (space.parentElement.clientWidth - (below() ? 0 : WORDS)) / lanes.clientWidth;
  if (room < 1) scale(Math.max(below() ? 0.55 : 0.7, room));
  const asked = Number((location.hash.match(/^#step=(\d+)$/) || [])[1]);
  if (asked) choose(asked - 1);
})();
