/** A table whose rows become entries on a phone, each value beside the heading of its column: `<table class="table entries" use:entries>`. */
export function entries(table: HTMLTableElement) {
  const label = () => {
    const heads = [...table.querySelectorAll('thead th')].map((head) => (head.querySelector('.hidden') ? '' : (head.textContent ?? '')))
    for (const row of table.tBodies[0]?.rows ?? []) {
      for (const [n, cell] of [...row.cells].entries()) if (cell.tagName === 'TD' && cell.colSpan === 1 && heads[n]) cell.dataset.label = heads[n]
    }
  }
  const observer = new MutationObserver(label)
  observer.observe(table, { childList: true, subtree: true })
  label()
  return { destroy: () => observer.disconnect() }
}
