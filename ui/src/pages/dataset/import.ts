/** Imports the rows of a file as a version of a dataset. */
import { request } from '../../api/request'

const TYPES: Record<string, string> = {
  jsonl: 'application/x-ndjson',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  json: 'application/json',
  yaml: 'text/yaml',
  yml: 'text/yaml',
  parquet: 'application/vnd.apache.parquet',
  pq: 'application/vnd.apache.parquet',
}
export const ENDINGS = Object.keys(TYPES).map((ending) => `.${ending}`)
const HOUR_MS = 3_600_000

export function typeOf(file: File): string | undefined {
  return TYPES[file.name.split('.').pop()?.toLowerCase() ?? '']
}

export async function importRows(name: string, file: File) {
  const type = typeOf(file) ?? 'application/x-ndjson'
  return request('post', '/api/v1/datasets/{name}', { path: { name }, query: { source: file.name }, body: file, type, timeoutMs: HOUR_MS })
}
