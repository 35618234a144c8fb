/** Copies a text, also where the page has no clipboard (plain HTTP). */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    ;(document.querySelector('dialog[open]') ?? document.body).append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}
