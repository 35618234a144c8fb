/** Numbers for people: exact counts with commas, a true minus, `–` for nothing. */
import type { Usage } from '../api/types'

export const NOTHING = '–'

export function count(n: number | null | undefined): string {
  if (n === null || n === undefined) return NOTHING
  return n >= 10_000_000 ? `${(n / 1_000_000).toFixed(1)} M` : n.toLocaleString('en')
}

/** `1 item`, `2,040 items`. */
export function counted(n: number, noun: string, plural = `${noun}s`): string {
  return `${count(n)} ${n === 1 ? noun : plural}`
}

export function score(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined ? NOTHING : value.toFixed(digits).replace('-', '−')
}

export function percent(share: number, digits = 0): string {
  return `${(share * 100).toFixed(digits)} %`
}

/** `6.2/s`, `0.4/s`, `12/min`. */
export function rate(perSecond: number | undefined): string {
  if (perSecond === undefined || Number.isNaN(perSecond)) return NOTHING
  if (perSecond === 0) return '0/s'
  if (perSecond >= 100) return `${Math.round(perSecond).toLocaleString('en')}/s`
  return perSecond >= 0.1 ? `${perSecond.toFixed(1)}/s` : `${(perSecond * 60).toFixed(1)}/min`
}

/** `$18.42`; below one cent `0.24 ¢`. */
export function money(nanos: number): string {
  const dollars = nanos / 1e9
  if (dollars === 0) return '$0'
  return dollars < 0.01 ? `${(dollars * 100).toFixed(dollars < 0.0001 ? 4 : 2)} ¢` : `$${dollars.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
}

export function tokens(usage: Usage): string {
  return `${count(usage.tokens_in)} in, ${count(usage.tokens_out)} out`
}

export function bytes(n: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let at = 0
  while (n >= 1000 && at < units.length - 1) {
    n /= 1000
    at++
  }
  return `${at === 0 ? n : n.toFixed(1)} ${units[at]}`
}
