import { type Group, type User, urn } from '../../contract/scim/schemas.ts'
import { chains, invalid, Refusal, type Request, toIso } from '../../kernel/index.ts'
import type { listScimUsers } from './contract.ts'
import type { GroupRow, MemberRow } from './group-store.ts'
import { maxResults } from './rules.ts'
import { type Comparison, parseFilter } from './scim/attributes.ts'
import type { PersonRow } from './store.ts'

const base = `${chains.systemApi.prefix}/scim/v2`

export function toUser(row: PersonRow, selection: Selection): User {
  const { id, externalId, userName, displayName, email, formatted, givenName, familyName } = row
  const name = present({ formatted, givenName, familyName })
  const user = {
    schemas: [urn.user],
    id,
    ...present({ externalId }),
    userName,
    ...(Object.keys(name).length > 0 && { name }),
    ...present({ displayName }),
    emails: [{ value: email, type: 'work', primary: true }],
    active: row.status === 'ACTIVE',
    meta: metaOf('User', row),
  }
  return select(user, selection)
}

/** `members` is not read if the request excludes it. */
export function toGroup(row: GroupRow, members: readonly MemberRow[] | null, selection: Selection): Group {
  const { id, externalId, displayName } = row
  const group = {
    schemas: [urn.group],
    id,
    ...present({ externalId }),
    displayName,
    ...(members && { members: members.map((one) => ({ value: one.id, display: one.userName, type: 'User' })) }),
    meta: metaOf('Group', row),
  }
  return select(group, selection)
}

export function toList<T>(Resources: T[], { total, startIndex }: { total: number; startIndex: number }) {
  return { schemas: [urn.list], totalResults: total, startIndex, itemsPerPage: Resources.length, Resources }
}

/** RFC 7644, 3.4.2.4: a negative position or number counts as the least one. */
export function toSlice({ filter, startIndex = 1, count = maxResults }: Request<typeof listScimUsers>['query']): {
  comparisons: Comparison[]
  startIndex: number
  offset: number
  limit: number
} {
  const first = Math.max(startIndex, 1)
  const comparisons = filter === undefined ? [] : parseFilter(filter)
  return { comparisons, startIndex: first, offset: first - 1, limit: Math.min(Math.max(count, 0), maxResults) }
}

export function assertSupported<T>(found: T | undefined): T {
  if (found === undefined)
    throw new Refusal('PROVISIONING.INVALID_FILTER', { internal: 'a filter of an unsupported attribute' })
  return found
}

/** The attributes that a request wants. */
export interface Selection {
  attributes: ReadonlySet<string> | null
  excluded: ReadonlySet<string>
}

export function toSelection(query: {
  attributes?: string | undefined
  excludedAttributes?: string | undefined
}): Selection {
  // RFC 7644, 3.4.2.5.
  if (query.attributes !== undefined && query.excludedAttributes !== undefined) throw invalid('excludedAttributes')
  const namesIn = (text: string) =>
    new Set(
      text.split(',').map((name) =>
        name
          .trim()
          .toLowerCase()
          .replace(/^urn:.*:(?=\w+$)/, '')
          .replace(/\..*$/, ''),
      ),
    )
  return {
    attributes: query.attributes === undefined ? null : namesIn(query.attributes),
    excluded: query.excludedAttributes === undefined ? new Set() : namesIn(query.excludedAttributes),
  }
}

export function includes({ attributes, excluded }: Selection, name: string): boolean {
  return !excluded.has(name) && (attributes === null || attributes.has(name))
}

/** RFC 7643, 3: every resource has `schemas` and `id`. */
function select<T extends { schemas: string[]; id: string }>(resource: T, selection: Selection) {
  const { schemas, id, ...others } = resource
  const kept = Object.entries(others).filter(([name]) => includes(selection, name.toLowerCase()))
  const chosen: Partial<Omit<T, 'schemas' | 'id'>> = Object.assign(
    {},
    ...kept.map(([name, value]) => ({ [name]: value })),
  )
  return { schemas, id, ...chosen }
}

function metaOf(
  resourceType: 'User' | 'Group',
  { id, createdAt, updatedAt }: Pick<GroupRow, 'createdAt' | 'updatedAt'> & { id: string },
) {
  const location = `${base}/${resourceType}s/${id}`
  return { resourceType, created: toIso(createdAt), lastModified: toIso(updatedAt), location }
}

function present<K extends string>(texts: Record<K, string | null>): Partial<Record<K, string>> {
  return Object.assign({}, ...Object.entries(texts).map(([name, text]) => (text === null ? {} : { [name]: text })))
}
