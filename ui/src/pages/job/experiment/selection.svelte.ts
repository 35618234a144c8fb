/** The selected items: some of them, or all that match a filter. */
import { SvelteMap } from 'svelte/reactivity'
import type { TableRow } from '../../../api/types'
import type { ResultTable } from './table.svelte'

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

  /** From the row that was selected last to this one. */
  extend(index: number, table: ResultTable) {
    this.all = undefined
    const [from, to] = [Math.min(index, this.#last), Math.max(index, this.#last)]
    for (let n = from; n <= to; n++) {
      const row = table.at(n)
      if (row) this.#rows.set(row.item, row)
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
