/*
 * The token of a mailed link is in the fragment, which browsers send to no server. It is taken when the application starts,
 * so that it stays neither in the address bar nor in the history.
 */
const mark = '#token='

/** Null without a token, such as after a reload. */
export const linkToken: string | null = takeToken()

// A link that is pasted into the open page changes only the fragment.
addEventListener('hashchange', () => {
  if (location.hash.startsWith(mark)) location.reload()
})

function takeToken(): string | null {
  if (!location.hash.startsWith(mark)) return null
  const token = location.hash.slice(mark.length)
  history.replaceState(history.state, '', `${location.pathname}${location.search}`)
  return token
}
