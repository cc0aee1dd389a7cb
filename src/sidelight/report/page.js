// Pointing at rows: names, clusters and statements. The page says all else without it.
(function () {
  "use strict";
  var box = document.querySelector(".map");
  if (!box) return;
  var data = JSON.parse(document.getElementById("map-data").textContent);
  var svg = box.querySelector("svg"), lines = svg.querySelector(".lines"), ring = svg.querySelector(".ring");
  var figure = box.querySelector("figure"), select = box.querySelector("select");
  var points = [], of = [];
  svg.querySelectorAll(".now path").forEach(function (path) {
    path.getAttribute("d").split("M").slice(1).forEach(function (text) {
      var at = text.split(/[ h]/);
      points.push({ x: +at[0], y: +at[1], k: +path.dataset.k });
      of.push([]);
    });
  });
  data.said.forEach(function (s, n) { of[s[0]].push(n); if (s[1] >= 0) of[s[1]].push(n); });
  box.querySelectorAll(".controls").forEach(function (part) { part.hidden = false; });
  var tip = document.createElement("div");
  tip.className = "tip"; tip.hidden = true; figure.appendChild(tip);

  function add(name, attributes) {
    var made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    lines.appendChild(made);
  }
  function draw(s) {
    var a = points[s[0]], b = points[s[1]], doubt = s[4] ? " doubt" : "";
    if (b) add("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "class": (s[2] > 0 ? "with" : "apart") + doubt });
    else add("circle", { cx: a.x, cy: a.y, r: 10, "class": doubt.trim() });
  }
  function words(s, here) {
    var who = s[3] >= 0 ? " (" + data.people[s[3]] + ")" : "", doubt = s[4] ? " – doubtful" : "";
    if (s[1] < 0) return (s[2] > 0 ? "is " : "is not ") + data.classes[-1 - s[1]] + who + doubt;
    return (s[2] > 0 ? "with " : "not with ") + data.rows[s[0] === here ? s[1] : s[0]] + who + doubt;
  }
  function chosen() {
    lines.textContent = "";
    var want = select ? select.value : "";
    if (want === "") return;
    data.said.forEach(function (s) {
      if (want === "doubt" ? s[4] : want === "?" ? s[3] < 0 : data.people[s[3]] === want.slice(1)) draw(s);
    });
  }
  function point(event) {
    var at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    var best = -1, near = 900;
    points.forEach(function (p, n) {
      var d = (p.x - at.x) * (p.x - at.x) + (p.y - at.y) * (p.y - at.y);
      if (d < near) { near = d; best = n; }
    });
    chosen();
    if (best < 0) return leave();
    var p = points[best], said = of[best];
    ring.setAttribute("cx", p.x); ring.setAttribute("cy", p.y);
    said.forEach(function (n) { draw(data.said[n]); });
    var told = said.slice(0, 6).map(function (n) { return words(data.said[n], best); });
    if (said.length > 6) told.push("and " + (said.length - 6) + " more statements");
    tip.textContent = [data.rows[best] + " · " + data.clusters[p.k]].concat(told).join("\n");
    tip.hidden = false;
    var room = figure.getBoundingClientRect(), seen = svg.getBoundingClientRect();
    var left = p.x / 1000 * seen.width, top = p.y / 700 * seen.height + seen.top - room.top;
    tip.style.left = Math.max(0, Math.min(left + 14, room.width - tip.offsetWidth)) + "px";
    tip.style.top = (top + 14 + tip.offsetHeight > room.height ? top - tip.offsetHeight - 10 : top + 14) + "px";
  }
  function leave() { tip.hidden = true; ring.setAttribute("cx", -99); chosen(); }
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", leave);
  if (select) select.addEventListener("change", chosen);
  box.querySelectorAll("input[name=when]").forEach(function (input) {
    input.addEventListener("change", function () { box.classList.toggle("without", input.value === "before" && input.checked); });
  });
  box.querySelectorAll(".legend tr[data-k]").forEach(function (row) {
    function show(on) {
      box.classList.toggle("one", on); row.classList.toggle("on", on);
      svg.querySelectorAll("path").forEach(function (path) { path.classList.toggle("on", on && path.dataset.k === row.dataset.k); });
    }
    row.tabIndex = 0;
    row.addEventListener("pointerenter", function () { show(true); });
    row.addEventListener("pointerleave", function () { show(false); });
    row.addEventListener("focus", function () { show(true); });
    row.addEventListener("blur", function () { show(false); });
  });
})();
