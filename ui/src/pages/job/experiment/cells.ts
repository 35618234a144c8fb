/** The columns of the table: their titles, widths and values. */
import type { TableRow } from '../../../api/types'
import { score } from '../../../text/number'
import { took } from '../../../text/time'

/** `0.24 ¢`, `$18.42`. */
export function dollars(value: number): string {
  if (value === 0) return '$0'
  return value < 0.01 ? `${(value * 100).toFixed(value < 0.0001 ? 4 : 2)} ¢` : `$${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
}

const after = (name: string, prefix: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : undefined)

export function valueOf(row: TableRow | undefined, name: string): unknown {
  if (row === undefined) return undefined
  const of = (prefix: string, values: Record<string, unknown> | null | undefined) => {
    const rest = after(name, prefix)
    return rest === undefined ? undefined : (values?.[rest] ?? null)
  }
  const scores = (from: TableRow['scores'] | undefined, part: 'value' | 'verdict' | 'reason') => Object.fromEntries(Object.entries(from ?? {}).map(([key, entry]) => [key, entry[part]]))
  if (name === 'id') return row.item
  if (name === 'tokens') return row.tokens_in + row.tokens_out
  if (name === 'baseline.output') return row.baseline?.output
  if (name === 'baseline.outcome') return row.baseline?.outcome
  return (
    of('field.', row.fields) ?? of('baseline.score.', scores(row.baseline?.scores, 'value')) ?? of('score.', scores(row.scores, 'value')) ?? of('verdict.', scores(row.scores, 'verdict')) ??
    of('reason.', scores(row.scores, 'reason')) ?? of('delta.', row.baseline?.delta) ?? of('change.', row.baseline?.change) ?? of('output.', row.outputs) ?? (row as unknown as Record<string, unknown>)[name]
  )
}

export function textOf(row: TableRow, name: string): string {
  const value = valueOf(row, name)
  if (value === null || value === undefined || value === '') return '–'
  if (name === 'latency_ms') return took(value as number)
  if (name === 'cost') return dollars(value as number)
  if (typeof value === 'number') return Number.isInteger(value) && !/score|delta/.test(name) ? value.toLocaleString('en') : score(value, 2)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const TITLES: Record<string, string> = { latency_ms: 'Latency', row: 'Item', output: 'This run', expected: 'Expected', input: 'Input', cost: 'Cost', outcome: 'Outcome', tries: 'Tries', error: 'Error', variant: 'Variant', trial: 'Trial', trials: 'Trials' }

export function titleOf(name: string, baseline = 'Baseline'): string {
  if (name === 'baseline.output') return baseline
  return TITLES[name] ?? after(name, 'score.') ?? after(name, 'field.') ?? name.replaceAll('_', ' ')
}

const NUMBERS = /^(score|delta|baseline\.score)\.|^(latency_ms|tokens|tokens_in|tokens_out|cost|tries|turns|trial|run|id)$/
export const isNumber = (name: string) => NUMBERS.test(name)
export const isMono = (name: string) => /^(expected|output|baseline\.output|output\..+|key|trace|id)$/.test(name)

const WIDTHS: Record<string, string> = {
  row: 'minmax(110px, 1.1fr)', outcome: 'minmax(92px, 128px)', input: 'minmax(120px, 2fr)', expected: 'minmax(70px, 1fr)', 'baseline.output': 'minmax(70px, 1fr)', output: 'minmax(80px, 1fr)',
  latency_ms: '70px', cost: '64px', tries: '48px', trial: '44px', variant: 'minmax(80px, 1fr)', error: 'minmax(90px, 1fr)',
}

/** Room for the dots of so many trials, and as many of the baseline. */
const DOT_PX = 14

export function widthOf(name: string, paired: boolean, trials: number): string {
  if (name === 'trials') return `${Math.max(52, Math.min(trials * DOT_PX * (paired ? 2 : 1) + (paired ? 22 : 0), 320))}px`
  if (name.startsWith('score.')) return paired ? '116px' : '80px'
  return WIDTHS[name] ?? (isNumber(name) ? '80px' : 'minmax(80px, 1fr)')
}

/** What names a row for people: a field that looks like a name, besides its place in the dataset. */
export function nameOf(row: TableRow): string | undefined {
  const found = ['name', 'title', 'id'].map((key) => row.fields[key]).find((value) => typeof value === 'string' && value.length > 0 && value.length <= 60)
  return found as string | undefined
}

/** What the job file reads of a row: the fields of its messages, and those its evaluators expect. */
export interface Reading {
  asked: readonly string[]
  expected: readonly string[]
}

const text = (value: unknown) => (value === null || value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value))

/** The input in one line: what is asked, else the longest text that is not the answer. */
export function inputOf(row: TableRow, reading: Reading): string {
  const asked = reading.asked.flatMap((name) => text(row.fields[name]) ?? [])
  if (asked.length > 0) return asked.join(' · ')
  const own = Object.entries(row.fields).filter(([name, value]) => typeof value === 'string' && value !== row.expected && !['id', 'name', 'title'].includes(name))
  const [longest] = own.sort(([, a], [, b]) => String(b).length - String(a).length)
  return longest ? String(longest[1]) : row.input
}

export function expectedOf(row: TableRow, reading: Reading): string | undefined {
  return row.expected ?? reading.expected.map((name) => text(row.fields[name])).find((value) => value !== undefined)
}

export function readingOf(spec: unknown): Reading {
  const { evaluators, ...rest } = (spec ?? {}) as Record<string, unknown>
  const names = (value: unknown) => [...new Set([...JSON.stringify(value ?? '').matchAll(/\{\{\s*([A-Za-z_]\w*)/g)].map(([, name]) => name!))]
  return { asked: names(rest), expected: names(evaluators).filter((name) => !['output', 'input'].includes(name)) }
}

/** Answered, and not what was expected. */
export const isWrong = (row: TableRow) => row.outcome === 'fail'
