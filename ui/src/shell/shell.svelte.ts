/** What of the shell is open. */
class Shell {
  palette = $state(false)
  help = $state(false)
}

export const shell = new Shell()
