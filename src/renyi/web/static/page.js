// The page with a script: sliders beside the boxes, answers as they move, copying. Without it, the form answers by itself.
"use strict";

(function () {
  const form = document.getElementById("calculator");
  document.documentElement.classList.add("js");

  for (const button of document.querySelectorAll("[data-line], [data-copy]")) button.hidden = false;

  document.addEventListener("click", function (event) {
    const copied = event.target.closest("[data-copy]");
    if (copied) {
      navigator.clipboard.writeText(copied.parentNode.querySelector("code").textContent).then(function () {
        copied.textContent = "copied";
      });
    }
    const added = event.target.closest("[data-line]");
    if (added) {
      const lines = document.getElementById("more");
      lines.value = (lines.value.trim() + "\n" + added.dataset.line).trim();
      lines.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });

  if (!form) return;

  // A number as the boxes hold it: 0.01, 1e-3 or 256/60000.
  function number(text) {
    const parts = text.split("/");
    const value = Number(parts[0]) / (parts.length > 1 ? Number(parts[1]) : 1);
    return text.trim() !== "" && parts.length < 3 && isFinite(value) ? value : NaN;
  }

  // Three digits are as many as a slider can choose.
  function shown(value, whole) {
    if (whole) return String(Math.max(1, Math.round(Number(value.toPrecision(3)))));
    return String(Number(value.toPrecision(3)));
  }

  function place(slider, value) {
    const low = Math.log(slider.dataset.low), high = Math.log(slider.dataset.high);
    if (value > 0) slider.value = Math.round(1000 * (Math.log(value) - low) / (high - low));
  }

  for (const slider of form.querySelectorAll("input[type=range]")) {
    const box = document.getElementById(slider.dataset.for);
    const whole = "whole" in slider.dataset;
    slider.parentNode.hidden = false;
    const say = function () { slider.setAttribute("aria-valuetext", box.value); };
    place(slider, number(box.value));
    say();
    slider.addEventListener("input", function () {
      const low = Math.log(slider.dataset.low), high = Math.log(slider.dataset.high);
      box.value = shown(Math.exp(low + (high - low) * slider.value / 1000), whole);
      say();
    });
    box.addEventListener("input", function () { place(slider, number(box.value)); say(); });
  }

  // What is shown belongs to an earlier run from here on, until each part is answered anew.
  form.addEventListener("input", function () {
    for (const part of document.querySelectorAll("#answer, #odds, #mu")) part.setAttribute("aria-busy", "true");
  });
  document.body.addEventListener("htmx:afterOnLoad", function (event) { event.detail.target.removeAttribute("aria-busy"); });
  for (const failure of ["htmx:sendError", "htmx:timeout"]) {
    document.body.addEventListener(failure, function (event) {
      const part = event.detail.target, words = document.createElement("p");
      words.className = "refused";
      if (part.id === "answer") words.setAttribute("role", "alert");
      words.textContent = "The server did not answer: is renyi serve still running?";
      part.replaceChildren(words);
      part.removeAttribute("aria-busy");
    });
  }

  document.body.addEventListener("htmx:afterSwap", function (event) {
    if (event.target.id !== "answer") return;
    for (const button of event.target.querySelectorAll("[data-copy]")) button.hidden = false;
    const link = document.getElementById("permalink");
    if (link) history.replaceState(null, "", link.getAttribute("href"));
  });

  form.querySelector(".go button").hidden = true;
})();
