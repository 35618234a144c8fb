/** Light, dark, or as the system. The choice is kept in this browser. */
export type Theme = 'system' | 'light' | 'dark'

const KEY = 'windrow.theme'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']

function stored(): Theme {
  const theme = localStorage.getItem(KEY) as Theme | null
  return theme && THEMES.includes(theme) ? theme : 'system'
}

class ThemeChoice {
  current = $state<Theme>(stored())

  apply() {
    if (this.current === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = this.current
  }

  set(theme: Theme) {
    this.current = theme
    if (theme === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
    this.apply()
  }

  next() {
    this.set(THEMES[(THEMES.indexOf(this.current) + 1) % THEMES.length]!)
  }
}

export const theme = new ThemeChoice()
