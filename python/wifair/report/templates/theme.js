// Before anything is drawn: what the reader chose earlier. Without a choice the system's own setting holds.
try {
  const chosen = localStorage.getItem("wifair-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* a file opened from the disk may have no storage */ }
