/** An input that the gateway refuses. */
export interface InvalidField {
  readonly name: string
  /** For programs, such as `missing`, `unknown`, `too_small` or `invalid_format`. */
  readonly reason: string
}

/** Proxies limit the length of a response's head. */
const maxFields = 20
const maxHeaderLength = 4_096

const member = /^(?:"(?<quoted>[\w.$-]{1,64})"|(?<token>[A-Za-z][\w.$-]{0,63}));reason=(?<reason>[a-z_]{1,32})$/

/**
 * An RFC 9651 list of at most 20 fields. Names that are not tokens, such as those that start with a digit, are strings.
 * Omits other names and reasons, which a handler could have taken from a request.
 */
export function formatInvalidFields(fields: readonly InvalidField[]): string {
  return fields
    .map(({ name, reason }) => `${/^[A-Za-z]/.test(name) ? name : `"${name}"`};reason=${reason}`)
    .filter((text) => member.test(text))
    .slice(0, maxFields)
    .join(', ')
}

/** Empty if the header is not in the form of `formatInvalidFields`. */
export function parseInvalidFields(header: string): InvalidField[] {
  if (header === '' || header.length > maxHeaderLength) return []
  const fields = header.split(/ *, */).map((text) => member.exec(text)?.groups)
  if (fields.length > maxFields) return []
  return fields.every((found) => found !== undefined)
    ? fields.map(({ quoted, token, reason = '' }) => ({ name: quoted ?? token ?? '', reason }))
    : []
}
