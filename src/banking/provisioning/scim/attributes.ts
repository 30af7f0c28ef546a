import { urn } from '../../../contract/scim/schemas.ts'
import { Refusal } from '../../../kernel/index.ts'

/* Attribute paths and filters of SCIM (RFC 7644, 3.4.2.2 and 3.5.2). Attribute names ignore case. */

export interface Comparison {
  /** In lower case, without the URN of the schema: `username`, `emails.value`. */
  attribute: string
  value: string | boolean
  /** The filter in brackets: `type eq "work"`. */
  within: Comparison | null
}

/** `userName eq "ann" and active eq true`. The value is a JSON text or boolean. */
export function parseFilter(filter: string): Comparison[] {
  const comparisons: Comparison[] = []
  let rest = filter.trim()
  while (comparisons.length < maxComparisons) {
    const [whole, path = '', text = ''] = comparison.exec(rest) ?? []
    if (whole === undefined) break
    comparisons.push({ ...parsePath(path, invalidFilter), value: parseValue(text) })
    rest = rest.slice(whole.length)
    if (rest === '') return comparisons
    const [joined] = /^ +and +/i.exec(rest) ?? []
    if (joined === undefined) break
    rest = rest.slice(joined.length)
  }
  throw invalidFilter()
}

export interface AttributePath {
  attribute: string
  within: Comparison | null
}

/** `name.givenName`, `emails[type eq "work"].value` or `members[value eq "…"]`. Throws PROVISIONING.INVALID_PATH. */
export function parsePath(path: string, refuse: () => Refusal = invalidPath): AttributePath {
  const [whole, prefix, name = '', filter, sub] = attributePath.exec(path.trim()) ?? []
  if (whole === undefined) throw refuse()
  // An attribute of another schema, such as the enterprise extension.
  const owner = prefix === undefined || coreSchemas.has(prefix.toLowerCase()) ? '' : `${prefix.toLowerCase()}:`
  const attribute = `${owner}${name}${sub === undefined ? '' : `.${sub}`}`.toLowerCase()
  if (filter === undefined) return { attribute, within: null }
  const [inner, innerPath = '', text = ''] = comparison.exec(filter.trim()) ?? []
  if (inner === undefined || inner !== filter.trim() || innerPath.includes('[')) throw refuse()
  return { attribute, within: { ...parsePath(innerPath, refuse), value: parseValue(text, refuse) } }
}

export function isEqual(one: string | boolean, other: string): boolean {
  return String(one).toLowerCase() === other.toLowerCase()
}

export function invalidPath(): Refusal {
  return new Refusal('PROVISIONING.INVALID_PATH', { internal: 'unsupported path' })
}

const maxComparisons = 5
const coreSchemas: ReadonlySet<string> = new Set([urn.user, urn.group].map((each) => each.toLowerCase()))

const jsonText = String.raw`"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[\da-fA-F]{4})*"`
const comparison = new RegExp(
  String.raw`^((?:urn:[\w.:-]+:)?[a-z$][\w$-]*(?:\[[^\]]*\])?(?:\.[a-z$][\w$-]*)?) +eq +(${jsonText}|true|false)(?= |$)`,
  'i',
)
const attributePath = /^(?:(urn:[\w.:-]+):)?([a-z$][\w$-]*)(?:\[([^\]]*)\])?(?:\.([a-z$][\w$-]*))?$/i

function invalidFilter(): Refusal {
  return new Refusal('PROVISIONING.INVALID_FILTER', { internal: 'unsupported filter' })
}

function parseValue(text: string, refuse: () => Refusal = invalidFilter): string | boolean {
  const value: unknown = JSON.parse(text.startsWith('"') ? text : text.toLowerCase())
  if (typeof value === 'boolean') return value
  // The store cannot compare other texts.
  if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed()) throw refuse()
  return value
}
