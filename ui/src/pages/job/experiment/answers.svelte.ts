/** The rows that match, and the numbers of all rows. Both follow the address; the numbers also follow the run. */
import { untrack } from 'svelte'
import { live } from '../../../api/live.svelte'
import { followTexts } from '../../../api/texts'
import type { JobDetail } from '../../../api/types'
import { settled } from '../../../text/bars'
import { jobKey } from '../../../text/links'
import type { PageState } from './page.svelte'
import { ResultTable } from './table.svelte'

const SELDOM_MS = 1_000

/** `ready` once the baseline is known. */
export function answersOf(page: PageState, job: () => JobDetail, ready: () => boolean, final: () => boolean) {
  const key = $derived(jobKey(job()))
  const id = $derived(job().id)
  const table = $derived(new ResultTable(key))
  const question = $derived(ready() ? JSON.stringify(page.question) : '')
  // The numbers of all rows: asked for where the rows have a filter, and again when something happened.
  const all = $derived(ready() ? JSON.stringify(page.whole) : '')
  const whole = $derived.by(() => {
    void all
    return new ResultTable(key)
  })
  const done = $derived(job().runs.reduce((sum, run) => sum + settled(run.items), 0))
  let seen = $state(0)
  const strip = $derived(whole.view && (page.q || whole.view.as_of >= (table.view?.as_of ?? 0)) ? whole.view : page.q ? undefined : table.view)

  $effect(() => {
    const [asked, current] = [question, table]
    if (asked) untrack(() => void current.ask(JSON.parse(asked), 0).then(() => (seen = done)))
  })
  $effect(() => {
    const [asked, current] = [all, whole]
    if (asked && (page.q || !final())) untrack(() => void current.ask(JSON.parse(asked)))
  })
  $effect(() => {
    const current = table
    return () => current.close()
  })
  $effect(() => {
    const current = whole
    return () => current.close()
  })

  // Texts of calls in flight appear in their rows.
  $effect(() => {
    const [current, name] = [table, id]
    if (!final()) return followTexts(name, (pieces) => current.hear(pieces))
    return undefined
  })

  /** Reads the rows again; the page in sight stays where it is. */
  const refresh = (at = 0) => table.again(at).then(() => void (seen = done))
  const recount = () => void (all && whole.ask(JSON.parse(all)))

  // Numbers follow the run; the more an answer costs, the more seldom. Rows stay until the user asks for them.
  $effect(() => {
    const current = id
    let timer = 0
    const stop = live.listen((event) => {
      if ((event.job !== current && event.kind !== 'gap') || timer) return
      timer = window.setTimeout(() => {
        timer = 0
        recount()
        if (table.view?.total === 0 || table.view?.rows_of_job === 0) void refresh()
      }, Math.max(SELDOM_MS, whole.tookMs * 10))
    })
    return () => (stop(), clearTimeout(timer))
  })

  return {
    get table() {
      return table
    },
    /** Of all rows. */
    get strip() {
      return strip
    },
    /** Results that came in since the rows were read. */
    get fresh() {
      return table.view ? Math.max(0, done - seen) : 0
    },
    refresh,
    recount,
  }
}
