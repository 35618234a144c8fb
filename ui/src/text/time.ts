/** Times and durations for people. */

const UNITS: readonly [ms: number, name: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
]
const HOUR_MS = 3_600_000
const clock: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }

/** The largest unit, and below ten of it the next smaller one too: `42 s`, `3 min 20 s`, `5 h 2 min`, `12 d`. */
export function duration(ms: number): string {
  const at = UNITS.findIndex(([unit]) => ms >= unit)
  const [unit, name] = UNITS[at] ?? [1_000, 's']
  const whole = Math.floor(ms / unit)
  const [smaller, smallerName] = UNITS[at + 1] ?? []
  const rest = smaller ? Math.floor((ms % unit) / smaller) : 0
  return at >= 0 && whole < 10 && rest > 0 ? `${whole} ${name} ${rest} ${smallerName}` : `${Math.max(whole, 0)} ${name}`
}

/** A measured time: `84 ms`, `1.84 s`, `37 min 12 s`. */
export function took(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(2)} s` : duration(ms)
}

/** `4 min ago` up to an hour, `14:23` today, `26 Sep 13:57` this year. */
export function when(time: string | null | undefined, now: number): string {
  if (!time) return '–'
  const date = new Date(time)
  const age = now - date.getTime()
  if (age >= 0 && age < 10_000) return 'now'
  if (age >= 0 && age < HOUR_MS) return `${duration(age).split(' ').slice(0, 2).join(' ')} ago`
  if (age < 0 && age > -HOUR_MS) return `in ${duration(-age).split(' ').slice(0, 2).join(' ')}`
  const today = new Date(now)
  const time24 = date.toLocaleTimeString('en-GB', clock)
  if (date.toDateString() === today.toDateString()) return time24
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  return date.getFullYear() === today.getFullYear() ? `${day} ${time24}` : `${day} ${date.getFullYear()}`
}

/** With the second, for titles and logs. */
export function exactly(time: string | null | undefined): string {
  return time ? new Date(time).toLocaleString('en-GB') : ''
}

export function clockTime(date: Date, seconds = false): string {
  return date.toLocaleTimeString('en-GB', seconds ? { ...clock, second: '2-digit' } : clock)
}
