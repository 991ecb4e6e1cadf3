// Start; follow the window, the theme and the printer.
followTheme(drawPoints);
new ResizeObserver(() => drawPoints()).observe(canvas);
for (const [event, printing] of [['beforeprint', true], ['afterprint', false]]) {
  window.addEventListener(event, () => {
    plane.printing = printing;
    root.classList.toggle('printing', printing);
    drawPoints();
  });
}
drawLegend();
drawKeep();
startReview();
choose(PRESETS.hard());
root.dataset.ready = Math.round(performance.now());  // milliseconds since the page was asked for
