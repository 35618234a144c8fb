/** The OpenAPI document of the server: its operations by tag, and an example of each schema. */
import type { Role } from '../../api/types'

export interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  default?: unknown
  example?: unknown
  minimum?: number
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema?: Schema
}

interface Described {
  operationId: string
  tags?: string[]
  summary?: string
  description?: string
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema?: Schema }> }
  'x-windrow-role'?: Role
}

export interface Document {
  info: { version: string }
  paths: Record<string, Record<string, Described>>
  components: { schemas: Record<string, Schema> }
}

export interface Operation {
  id: string
  method: string
  path: string
  tag: string
  summary: string
  description: string
  role: Role
  parameters: readonly Parameter[]
  /** Media types of the body, with their schema; empty for none. */
  bodies: readonly [type: string, schema: Schema | undefined][]
}

export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      id: described.operationId,
      method: method.toUpperCase(),
      path,
      tag: described.tags?.[0] ?? 'other',
      summary: described.summary ?? '',
      description: described.description ?? '',
      role: described['x-windrow-role'] ?? 'viewer',
      parameters: described.parameters ?? [],
      bodies: Object.entries(described.requestBody?.content ?? {}).map(([type, content]) => [type, content.schema] as const),
    })),
  ) as Operation[]
}

/** Operations that contain every word, grouped by tag in the order of the document. */
export function grouped(operations: readonly Operation[], text: string): [string, Operation[]][] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = operations.filter(({ method, path, summary, id, tag }) => words.every((word) => `${method} ${path} ${summary} ${id} ${tag}`.toLowerCase().includes(word)))
  const groups = new Map<string, Operation[]>()
  for (const operation of fits) groups.set(operation.tag, [...(groups.get(operation.tag) ?? []), operation])
  return [...groups].sort(([a], [b]) => a.localeCompare(b))
}

/** A value that fits the schema and can be sent as it is: required fields; where there are none, all, without a wish. */
export function exampleOf(document: Document, schema: Schema | undefined, depth = 0): unknown {
  if (!schema || depth > 6) return {}
  if (schema.$ref) return exampleOf(document, document.components.schemas[schema.$ref.split('/').at(-1)!], depth + 1)
  if (schema.example !== undefined) return schema.example
  if (schema.default !== undefined && schema.default !== null) return schema.default
  if (schema.enum) return schema.enum[0]
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => exampleOf(document, part, depth + 1)))
  const one = (schema.oneOf ?? schema.anyOf)?.find((part) => part.type !== 'null')
  if (one) return exampleOf(document, one, depth + 1)
  const type = [schema.type].flat().find((name) => name !== 'null')
  if (type === 'object' || schema.properties) return objectOf(document, schema, depth)
  if (type === 'array') return schema.items ? [exampleOf(document, schema.items, depth + 1)] : []
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  return type === 'boolean' ? false : type === 'string' ? 'text' : null
}

function objectOf(document: Document, schema: Schema, depth: number) {
  const fields = Object.entries(schema.properties ?? {})
  const needed = fields.filter(([name]) => schema.required?.includes(name))
  if (needed.length > 0 || depth > 2) return Object.fromEntries(needed.map(([name, field]) => [name, exampleOf(document, field, depth + 1)]))
  return Object.fromEntries(fields.map(([name, field]) => [name, unasked(document, field, depth)]))
}

/** The value of a field that means the same as leaving it out. */
function unasked(document: Document, schema: Schema, depth: number): unknown {
  if (schema.default !== undefined) return schema.default
  const types = [schema.type].flat()
  if (types.includes('null') || (schema.oneOf ?? schema.anyOf)?.some((part) => part.type === 'null')) return null
  if (types.includes('array')) return []
  return exampleOf(document, schema, depth + 1)
}
