/** The kinds of change of a plan, as the server counted them, with those of their targets that it listed. */
import type { components } from '../../../../api/schema'

type Planned = components['schemas']['PlannedTarget']

export interface PlannedKind {
  id: string
  kind: 'refused' | 'change' | 'done'
  text: string
  /** Of all targets of the plan. */
  count: number
  first: string
  last: string
  /** Those that are listed. */
  targets: Planned[]
}

const keyOf = ({ error, done, changes }: { error?: string | null; done: boolean; changes: string[] }) => JSON.stringify([error ?? null, done, changes])

export function kindsOfPlan(plan: components['schemas']['Plan']): PlannedKind[] {
  const listed = new Map<string, Planned[]>()
  for (const target of plan.targets) listed.get(keyOf(target))?.push(target) ?? listed.set(keyOf(target), [target])
  return (plan.kinds ?? []).map((kind) => ({
    id: keyOf(kind),
    kind: kind.error ? 'refused' : kind.done ? 'done' : 'change',
    text: kind.error ?? (kind.done ? 'already so, nothing is sent' : kind.changes.join('; ')),
    count: kind.targets,
    first: kind.first,
    last: kind.last,
    targets: listed.get(keyOf(kind)) ?? [],
  }))
}
