/** Targets grouped by what changes on them; the largest group first. */
interface Changed {
  target: string
  changes: readonly string[]
}

export interface Kind<T extends Changed> {
  text: string
  changes: readonly string[]
  targets: T[]
}

export function kindsOf<T extends Changed>(targets: readonly T[]): Kind<T>[] {
  const kinds = new Map<string, Kind<T>>()
  for (const target of targets) {
    const text = target.changes.join('; ')
    const kind = kinds.get(text) ?? { text, changes: target.changes, targets: [] }
    kind.targets.push(target)
    kinds.set(text, kind)
  }
  return [...kinds.values()].sort((a, b) => Number(a.text === '') - Number(b.text === '') || b.targets.length - a.targets.length)
}
