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
    if (move) dot.scrollIntoView({ block: "center", inline: narrow.matches ? "center" : "nearest" });
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
  const narrow = matchMedia("(max-width: 900px)"); // then lanes scroll sideways, words are below
  if (narrow.matches) {
    scale(Math.max(0.55, Math.min(1, space.parentElement.clientWidth / lanes.clientWidth)));
  }
  const asked = Number((location.hash.match(/^#step=(\d+)$/) || [])[1]);
  if (asked) choose(asked - 1);
})();
