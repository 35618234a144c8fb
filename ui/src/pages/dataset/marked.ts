/** A row of a dataset, and how it differs between two versions. */
export interface MarkedRow {
  how: 'added' | 'removed' | 'changed' | 'same'
  old?: unknown
  now?: unknown
}
