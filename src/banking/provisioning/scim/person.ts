import { z } from 'zod'
import { email as mailbox } from '../../../contract/account-fields.ts'
import { Email, Name, type PatchOperation, UserBody } from '../../../contract/scim/schemas.ts'
import { invalid, isRecord, Refusal } from '../../../kernel/index.ts'
import { type AttributePath, invalidPath, isEqual, parsePath } from './attributes.ts'

/** The attributes of a person that Portico keeps. */
export interface Person {
  userName: string
  externalId: string | null
  formatted: string | null
  givenName: string | null
  familyName: string | null
  displayName: string | null
  email: string
  active: boolean
}

/** Throws VALIDATION.INVALID_PARAMETER without an address. `active` is true by default. */
export function toPerson(body: UserBody): Person {
  const { userName, externalId, name, displayName, emails, active } = body
  return {
    userName,
    externalId: textOrNull(externalId),
    formatted: textOrNull(name?.formatted),
    givenName: textOrNull(name?.givenName),
    familyName: textOrNull(name?.familyName),
    displayName: textOrNull(displayName),
    email: toAddress(choose(emails ?? [])?.value ?? userName),
    active: active ?? true,
  }
}

/** The name of the account. */
export function nameOf({ displayName, formatted, givenName, familyName, userName }: Person): string {
  const parts = [givenName, familyName].filter((part) => part !== null).join(' ')
  return displayName ?? formatted ?? (parts === '' ? userName : parts)
}

/** Applies all operations, or throws. Ignores attributes that Portico does not keep. */
export function patchPerson(person: Person, operations: readonly PatchOperation[]): Person {
  return operations.reduce((changed, operation) => applyOperation(changed, operation), person)
}

export type Op = 'add' | 'replace' | 'remove'

/** Entra ID sends `Add` and `Replace`. Throws PROVISIONING.INVALID_SYNTAX. */
export function toOp(text: string): Op {
  const op = text.toLowerCase()
  if (op === 'add' || op === 'replace' || op === 'remove') return op
  throw new Refusal('PROVISIONING.INVALID_SYNTAX', { internal: 'unknown operation of a PATCH' })
}

/** The members of an object without a path, whose names can be paths: `name.givenName`. */
export function membersOf(op: Op, value: unknown): [path: string, value: unknown][] {
  if (op === 'remove') throw invalidPath()
  if (!isRecord(value)) throw invalid('value', 'an operation without a path needs an object')
  return Object.entries(value)
}

export function parseAttribute<T>(schema: z.ZodType<T>, value: unknown, field: string): T {
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw invalid(field)
  return parsed.data
}

const { userName, externalId, displayName, active } = UserBody.shape
const { givenName, familyName, formatted } = Name.shape
const Emails = z.union([z.array(Email).max(20), Email.transform((one) => [one])])

function applyOperation(person: Person, { op: text, path, value }: PatchOperation): Person {
  const op = toOp(text)
  if (path === undefined || path === null)
    return membersOf(op, value).reduce((changed, [name, each]) => set(changed, parsePath(name), each), person)
  return set(person, parsePath(path), op === 'remove' ? null : value)
}

/** A removed attribute has the value null. */
function set(person: Person, { attribute, within }: AttributePath, value: unknown): Person {
  switch (attribute) {
    case 'username':
      return { ...person, userName: parseAttribute(userName, value, 'userName') }
    case 'externalid':
      return { ...person, externalId: textOrNull(parseAttribute(externalId, value, 'externalId')) }
    case 'displayname':
      return { ...person, displayName: textOrNull(parseAttribute(displayName, value, 'displayName')) }
    case 'active':
      return { ...person, active: parseAttribute(active.unwrap().unwrap(), value, 'active') }
    case 'name':
      return setName(person, value)
    case 'name.givenname':
      return { ...person, givenName: textOrNull(parseAttribute(givenName, value, 'name.givenName')) }
    case 'name.familyname':
      return { ...person, familyName: textOrNull(parseAttribute(familyName, value, 'name.familyName')) }
    case 'name.formatted':
      return { ...person, formatted: textOrNull(parseAttribute(formatted, value, 'name.formatted')) }
    case 'emails':
      return isOther(within) ? person : { ...person, email: toAddress(addressIn(value, person)) }
    case 'emails.value':
      return isOther(within) ? person : { ...person, email: toAddress(parseAttribute(z.string(), value, 'emails')) }
    default:
      return person
  }
}

function setName(person: Person, value: unknown): Person {
  if (value === null) return { ...person, formatted: null, givenName: null, familyName: null }
  const name = parseAttribute(Name, value, 'name')
  const changed = { formatted: name.formatted, givenName: name.givenName, familyName: name.familyName }
  const given = Object.entries(changed).filter(([, text]) => text !== undefined)
  return { ...person, ...Object.fromEntries(given.map(([key, text]) => [key, textOrNull(text)])) }
}

/** Portico keeps one address, that of work. */
function isOther(within: AttributePath['within']): boolean {
  if (within === null) return false
  const isWork = within.attribute === 'type' && isEqual(within.value, 'work')
  return !isWork && !(within.attribute === 'primary' && isEqual(within.value, 'true'))
}

/** Addresses of other types only, such as an added one of home, keep the present address. */
function addressIn(value: unknown, { email }: Person): string {
  const chosen = choose(parseAttribute(Emails, value, 'emails'))
  const counts = chosen?.primary || (chosen?.type ?? 'work').toLowerCase() === 'work'
  return chosen && counts ? chosen.value : email
}

function choose(emails: readonly z.output<typeof Email>[]): z.output<typeof Email> | undefined {
  const isWork = ({ type }: z.output<typeof Email>) => type?.toLowerCase() === 'work'
  return (
    emails.find((each) => isWork(each) && each.primary) ??
    emails.find(isWork) ??
    emails.find(({ primary }) => primary) ??
    emails[0]
  )
}

function toAddress(text: string): string {
  return parseAttribute(mailbox, text, 'emails')
}

function textOrNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text
}
