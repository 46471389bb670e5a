// Light, dark, or as the system: kept for the tab.
const THEME = "afterturn-theme";

export function startTheme(select) {
  const show = (theme) => document.documentElement.setAttribute("data-theme", theme);
  select.value = sessionStorage.getItem(THEME) ?? "";
  show(select.value);
  select.addEventListener("change", () => {
    sessionStorage.setItem(THEME, select.value);
    show(select.value);
  });
}
