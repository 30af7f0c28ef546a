/** The instant of a local time such as `2026-11-29T19:03`, in ISO 8601. Undefined for another text. */
export function instantOf(local: string, timeZone: string | undefined): string | undefined {
  const guess = new Date(`${local}Z`)
  if (Number.isNaN(guess.getTime())) return undefined
  // The offset at the guess can be that of the other side of a change of clocks.
  const near = new Date(`${local}${offsetAt(guess, timeZone)}`)
  return new Date(`${local}${offsetAt(near, timeZone)}`).toISOString()
}

/** The local time of an instant for a field of the browser, such as `2026-11-29T19:03:41`. Rounds down to a second. */
export function localTimeOf(instant: Date, timeZone: string | undefined): string {
  // Swedish times have the order of ISO 8601.
  const form = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium', timeZone })
  return form.format(instant).replace(' ', 'T')
}

function offsetAt(instant: Date, timeZone: string | undefined): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(instant)
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value.replace('GMT', '')
  return name ? name.slice(0, 6) : 'Z'
}
