/** Single letters are shortcuts, except where somebody types. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = (event.composedPath()[0] ?? event.target) as HTMLElement
  const fields = target.matches?.('input:not([type=checkbox]), textarea, select') || target.isContentEditable
  return fields || event.ctrlKey || event.metaKey || event.altKey
}
