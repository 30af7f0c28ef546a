import { z } from 'zod'
import { GroupBody, Member, maxMembers, type PatchOperation } from '../../../contract/scim/schemas.ts'
import { invalid, isRecord, Refusal } from '../../../kernel/index.ts'
import { type AttributePath, invalidPath, parsePath } from './attributes.ts'
import { membersOf, type Op, parseAttribute, toOp } from './person.ts'

/** The attributes of a group. Members are ids of accounts. */
export interface GroupFacts {
  displayName: string
  externalId: string | null
  members: ReadonlySet<string>
}

export function toGroupFacts({ displayName, externalId, members }: GroupBody): GroupFacts {
  return {
    displayName,
    externalId: externalId ?? null,
    members: new Set((members ?? []).map(({ value }) => value.toLowerCase())),
  }
}

/** Applies all operations, or throws. Ignores attributes that Portico does not keep. */
export function patchGroup(group: GroupFacts, operations: readonly PatchOperation[]): GroupFacts {
  const changed = operations.reduce((each, operation) => applyOperation(each, operation), group)
  if (changed.members.size > maxMembers) throw tooMany('members of a group')
  return changed
}

export function tooMany(internal: string): Refusal {
  return new Refusal('PROVISIONING.TOO_MANY', { internal: `too many ${internal}` })
}

const { displayName, externalId } = GroupBody.shape
const Members = z.union([z.array(Member).max(maxMembers), Member.transform((one) => [one])])

function applyOperation(group: GroupFacts, { op: text, path, value }: PatchOperation): GroupFacts {
  const op = toOp(text)
  if (path === undefined || path === null)
    return membersOf(op, value).reduce((changed, [name, each]) => set(changed, op, parsePath(name), each), group)
  return set(group, op, parsePath(path), value)
}

function set(group: GroupFacts, op: Op, path: AttributePath, value: unknown): GroupFacts {
  const given = op === 'remove' ? null : value
  switch (path.attribute) {
    case 'displayname':
      return { ...group, displayName: parseAttribute(displayName, given, 'displayName') }
    case 'externalid':
      return { ...group, externalId: parseAttribute(externalId, given, 'externalId') ?? null }
    case 'members':
      return { ...group, members: changeMembers(group.members, op, path, value) }
    default:
      return group
  }
}

/** Entra ID removes members by `value`, unless its flag `aadOptscim062020` is set. Okta and the flag use a filter. */
function changeMembers(
  members: ReadonlySet<string>,
  op: Op,
  { within }: AttributePath,
  value: unknown,
): ReadonlySet<string> {
  if (within !== null) {
    if (op !== 'remove' || within.attribute !== 'value' || typeof within.value !== 'string') throw invalidPath()
    return without(members, [within.value.toLowerCase()])
  }
  if (op === 'remove') return value === undefined || value === null ? new Set() : without(members, idsIn(value))
  const ids = idsIn(value)
  return op === 'replace' ? new Set(ids) : new Set([...members, ...ids])
}

function idsIn(value: unknown): string[] {
  if (!Array.isArray(value) && !isRecord(value)) throw invalid('members')
  return parseAttribute(Members, value, 'members').map((member) => member.value.toLowerCase())
}

function without(members: ReadonlySet<string>, ids: readonly string[]): ReadonlySet<string> {
  return new Set([...members].filter((id) => !ids.includes(id)))
}
