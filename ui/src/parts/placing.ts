/**
 * Where rows are drawn. Browsers clamp an element at about 17 to 33 million pixels, which is less than a million rows
 * need. Above the limit the scroll height is shortened by `scale`, and the rows in sight keep their full height.
 */
const LIMIT_PX = 12_000_000

export interface Placing {
  height: number
  scale: number
  place: (indexes: readonly number[], scroll: number) => { index: number; start: number }[]
}

export function placeRows(count: number, rowHeight: number): Placing {
  const whole = count * rowHeight
  const scale = whole > LIMIT_PX ? LIMIT_PX / whole : 1
  return {
    height: whole * scale,
    scale,
    place(indexes, scroll) {
      if (scale === 1) return indexes.map((index) => ({ index, start: index * rowHeight }))
      // The first row in sight is where it belongs; the others follow it without gaps.
      const top = Math.max(scroll, 0)
      const first = Math.floor(top / (rowHeight * scale))
      const seen = Math.ceil(window.innerHeight / rowHeight) + 10
      const from = Math.max(first - 5, 0)
      const until = Math.min(first + seen, count)
      return Array.from({ length: until - from }, (_, n) => ({ index: from + n, start: top + (from + n - first) * rowHeight }))
    },
  }
}
