/** Formats durations for display. */

const UNITS: readonly [ms: number, name: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
]

/** The largest unit, and below ten of it the next smaller one too: `42 s`, `3 min 20 s`, `5 h 2 min`, `12 d`. */
export function formatDuration(ms: number): string {
  const at = UNITS.findIndex(([unit]) => ms >= unit)
  const [unit, name] = UNITS[at] ?? [1_000, 's']
  const whole = Math.floor(ms / unit)
  const [smaller, smallerName] = UNITS[at + 1] ?? []
  const rest = smaller ? Math.floor((ms % unit) / smaller) : 0
  return at >= 0 && whole < 10 && rest > 0 ? `${whole} ${name} ${rest} ${smallerName}` : `${Math.max(whole, 0)} ${name}`
}
