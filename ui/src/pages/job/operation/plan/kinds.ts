/** Planned targets grouped by what would happen to them: refused first, then changes, then those that are up to date. */
import type { components } from '../../../../api/schema'

type Planned = components['schemas']['PlannedTarget']

export interface PlannedKind {
  kind: 'refused' | 'change' | 'done'
  text: string
  targets: Planned[]
}

const ORDER = ['refused', 'change', 'done']

export function kindsOfPlan(targets: readonly Planned[]): PlannedKind[] {
  const kinds = new Map<string, PlannedKind>()
  for (const target of targets) {
    const kind = target.error ? 'refused' : target.done ? 'done' : 'change'
    const text = target.error ?? (target.done ? 'already so, nothing is sent' : target.changes.join('; '))
    const found = kinds.get(kind + text) ?? { kind, text, targets: [] }
    found.targets.push(target)
    kinds.set(kind + text, found)
  }
  return [...kinds.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || b.targets.length - a.targets.length)
}
