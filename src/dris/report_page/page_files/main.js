// Start; follow the window, the theme and the printer.
const repaint = canvas ? drawPoints : () => {};
followTheme(repaint);
if (canvas) new ResizeObserver(() => drawPoints()).observe(canvas);
for (const [event, printing] of [['beforeprint', true], ['afterprint', false]]) {
  window.addEventListener(event, () => {
    plane.printing = printing;
    root.classList.toggle('printing', printing);
    repaint();
  });
}
startSuspects();
if (canvas) { listenToPlane(); drawLegend(); }
drawKeep();
startReview();
if (canvas) choose(PRESETS.hard());
root.dataset.ready = Math.round(performance.now());  // milliseconds since the page was asked for
