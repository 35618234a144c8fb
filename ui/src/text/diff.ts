/** Which lines two JSON values have in common: the longest common subsequence of their pretty-printed lines. */
export interface DiffLine {
  kind: 'same' | 'old' | 'new'
  text: string
}

/** Above this many lines the middle is shown as removed and added: the table of the subsequence would be too large. */
const LIMIT = 2_000

function linesOf(value: unknown): string[] {
  return value === undefined || value === null ? [] : JSON.stringify(sorted(value), null, 2).split('\n')
}

/** Object keys in one order, so that only values differ. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, entry]) => [key, sorted(entry)]))
}

export function diffJson(before: unknown, after: unknown): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++
  const same = (texts: string[]) => texts.map((text): DiffLine => ({ kind: 'same', text }))
  const middle = diffLines(old.slice(head, old.length - tail), now.slice(head, now.length - tail))
  return [...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))]
}

function diffLines(old: string[], now: string[]): DiffLine[] {
  if (old.length * now.length > LIMIT * LIMIT || old.length === 0 || now.length === 0) {
    return [...old.map((text): DiffLine => ({ kind: 'old', text })), ...now.map((text): DiffLine => ({ kind: 'new', text }))]
  }
  const width = now.length + 1
  const common = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      common[i * width + j] = old[i] === now[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ kind: 'same', text: old[i++]! })
      j++
    } else if (j >= now.length || (i < old.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) lines.push({ kind: 'old', text: old[i++]! })
    else lines.push({ kind: 'new', text: now[j++]! })
  }
  return lines
}
