// Buttons that open and close what has no room on a small screen; on a large one it is always there.

export function listenToMenus() {
  for (const button of document.querySelectorAll(".menu")) {
    const setOpen = (isOpen) => button.setAttribute("aria-expanded", String(isOpen));
    button.addEventListener("click", () => setOpen(button.getAttribute("aria-expanded") !== "true"));
  }
}
