/**
 * Tells of a sign-in's end, whichever tab has ended it, as soon as this client looks for its tokens and finds none.
 * A client that has known nobody signed in is told nothing.
 */
export const createDeparture = (onSignedOut: () => void) => {
  let isKnown = false
  return {
    /** What was found, as it is. */
    seen: <T>(tokens: T | null): T | null => {
      const isGone = isKnown && tokens === null
      isKnown = tokens !== null
      if (isGone) onSignedOut()
      return tokens
    },
    /** The end that comes is this client's own doing. */
    expect: (): void => {
      isKnown = false
    },
  }
}
