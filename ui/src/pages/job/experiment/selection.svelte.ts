/** The selected items: some of them, or all that match a filter. */
import { SvelteMap } from 'svelte/reactivity'
import type { TableRow } from '../../../api/types'
import { toasts } from '../../../parts/toasts.svelte'
import { count } from '../../../text/number'
import type { ResultTable } from './table.svelte'

/** What one request can act on. */
export const MOST_ITEMS = 10_000

export class Selection {
  #rows = new SvelteMap<string, TableRow>()
  /** All rows of this view are selected. */
  all = $state<string>()
  #last = 0

  has(row: TableRow, table: ResultTable) {
    return this.#rows.has(row.item) || (this.all !== undefined && this.all === table.view?.view)
  }

  get rows(): TableRow[] {
    return [...this.#rows.values()]
  }

  count(table: ResultTable): number {
    return this.all !== undefined && this.all === table.view?.view ? table.length : this.#rows.size
  }

  toggle(row: TableRow, index: number) {
    this.all = undefined
    this.#last = index
    if (!this.#rows.delete(row.item)) this.#rows.set(row.item, row)
  }

  /** From the row that was selected last to this one, also over rows that were never in sight. */
  async extend(index: number, table: ResultTable) {
    this.all = undefined
    const [from, to] = [Math.min(index, this.#last), Math.max(index, this.#last)]
    if (to - from >= MOST_ITEMS) return toasts.say(`At most ${count(MOST_ITEMS)} rows in a range. Ctrl a selects all that match.`)
    try {
      const here = Array.from({ length: to - from + 1 }, (_, n) => table.at(from + n))
      const rows = here.every((row) => row !== undefined) ? here : await table.between(from, to)
      for (const row of rows) this.#rows.set(row.item, row)
    } catch (error) {
      toasts.fail(error)
    }
  }

  selectAll(table: ResultTable) {
    this.#rows.clear()
    this.all = table.view?.view
  }

  clear() {
    this.#rows.clear()
    this.all = undefined
  }
}
