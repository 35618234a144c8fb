/** The shortcuts of the results. */
import { isTyping } from '../../../parts/keys'
import { router } from '../../../router.svelte'
import { toasts } from '../../../parts/toasts.svelte'
import type { PageState } from './page.svelte'
import type { Selection } from './selection.svelte'
import type { ResultTable } from './table.svelte'

export interface Hands {
  page: PageState
  table: ResultTable
  selection: Selection
  /** The row that the keyboard is at. */
  at: () => number
  moveTo: (index: number) => void
  refresh: () => void
  retry: () => void
  /** Gives a verdict about the selection or the row. */
  verdict: (said: 'pass' | 'fail' | null) => void
  note: () => void
}

const FAR = 2_000
const STEP = 100
const STEP_PX = 24
const MODES = ['', 'comfortable', 'diff']

/** Goes to the next row that fits, up to a distance; reads rows that are not here yet. */
async function seek(hands: Hands, by: 1 | -1, what: string, fits: (index: number) => boolean) {
  const { table } = hands
  const from = hands.at()
  for (let n = 1; n <= FAR; n++) {
    const index = from + n * by
    if (index < 0 || index >= table.length) break
    if (table.at(index) === undefined) await table.need(Math.max(0, index - (by < 0 ? STEP : 0)), index + (by > 0 ? STEP : 0))
    if (fits(index)) return hands.moveTo(index)
  }
  toasts.say(`No ${what} ${by > 0 ? 'after' : 'before'} this row`)
}

function regressed({ page, table }: Hands, index: number): boolean {
  const row = table.at(index)
  return page.headline === undefined ? false : row?.baseline?.change[page.headline] === 'regressed'
}

/** Whether the key was used. */
export function press(event: KeyboardEvent, hands: Hands): boolean {
  const { page, table, selection } = hands
  if (document.querySelector('dialog[open]')) return false
  if ((event.ctrlKey || event.metaKey) && event.key === 'a' && !(event.target as Element).matches('input, textarea')) return selection.selectAll(table), true
  if (isTyping(event)) return false
  const row = table.at(hands.at())
  const isDrawer = router.param('item') !== ''
  switch (event.key) {
    case 'r': return hands.refresh(), true
    case 'n': return void seek(hands, 1, 'regression', (index) => regressed(hands, index)), true
    case 'p': return void seek(hands, -1, 'regression', (index) => regressed(hands, index)), true
    case 'e': return void seek(hands, 1, 'error', (index) => table.at(index)?.outcome === 'error'), true
    case 'x': return row && selection.toggle(row, hands.at()), true
    case 'X': return void selection.extend(hands.at(), table), true
    case 'R': return hands.retry(), true
    case '1': return hands.verdict('pass'), true
    case '2': return hands.verdict('fail'), true
    case '0': return hands.verdict(null), true
    case 'c': return hands.note(), true
    case 's': return router.set({ do: 'rescore' }), true
    case 't': return router.set({ show: page.charts ? '' : 'chart' }), true
    case 'b': return document.getElementById('baseline')?.focus(), true
    case 'h':
    case 'l':
      if (page.layout === 'matrix' && !page.charts) return false
      return column(event.key === 'l' ? 1 : -1), true
    case 'd':
      if (isDrawer) return false
      return page.choose('rows', MODES[(MODES.indexOf(page.mode === 'compact' ? '' : page.mode) + 1) % MODES.length]!), true
    case '[':
    case ']': return widen(page, event.key === ']' ? STEP_PX : -STEP_PX)
    default: return false
  }
}

/** Makes the column wider or narrower of which the head has the focus. */
function widen(page: PageState, by: number): boolean {
  const head = document.activeElement?.closest<HTMLElement>('[role=columnheader]')
  if (!head?.dataset.column) return false
  page.widen(head.dataset.column, head.getBoundingClientRect().width, by)
  return true
}

/** Moves along the heads of the columns, where Enter sorts. */
function column(by: number) {
  const heads = [...document.querySelectorAll<HTMLElement>('[role=grid] [role=columnheader] button')]
  const at = heads.indexOf(document.activeElement as HTMLElement)
  heads[at < 0 ? (by > 0 ? 0 : heads.length - 1) : Math.min(heads.length - 1, Math.max(0, at + by))]?.focus()
}
