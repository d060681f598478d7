// Tables that scroll sideways can be reached by the keyboard, and a button to copy code is no landmark.
// The theme adds both after the page has loaded.
new MutationObserver(() => {
  const scrolling = ".md-typeset__scrollwrap:not([tabindex]), .formula:not([tabindex])";
  document.querySelectorAll(scrolling).forEach((one) => { one.tabIndex = 0; });
  const buttons = ".md-code__nav:not([role])";
  document.querySelectorAll(buttons).forEach((one) => { one.setAttribute("role", "none"); });
}).observe(document.documentElement, { childList: true, subtree: true });
