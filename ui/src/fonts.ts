/**
 * Inter and JetBrains Mono (latin). They are fetched as data, because the content security policy has no source for
 * fonts; until they are there, and where they cannot be had, the page uses the fonts of the system.
 */
import inter from '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2?url'
import mono from '@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2?url'

async function load(family: string, url: string) {
  const response = await fetch(url)
  const face = new FontFace(family, await response.arrayBuffer(), { weight: '100 900' })
  document.fonts.add(await face.load())
}

export function loadFonts() {
  // Without them the page still reads well.
  for (const [family, url] of [['Inter', inter], ['JetBrains Mono', mono]] as const) load(family, url).catch(() => undefined)
}
