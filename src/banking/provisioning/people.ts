import type { PatchOperation, UserBody } from '../../contract/scim/schemas.ts'
import { type AccountStatus, assertFound, conflict, type Instant, Refusal } from '../../kernel/index.ts'
import { type Command, type CommandContext, type ProvisioningPorts, runCommand } from './command.ts'
import { leaveGroups } from './group-store.ts'
import { tooMany } from './scim/group.ts'
import { type Person, patchPerson, toPerson } from './scim/person.ts'
import {
  countPeople,
  deletedPerson,
  insertPerson,
  linkIdentity,
  type PersonRow,
  personById,
  updatePerson,
} from './store.ts'

/*
 * The people of an identity provider. A new person has no permissions. A suspended one loses them with the sessions. A new
 * address or external id could hand the account to somebody else. It removes the permissions, so that a second operator
 * decides again.
 */

/** Throws PROVISIONING.NOT_UNIQUE for an address of another account: a provider takes over no account. */
export function createPerson(ports: ProvisioningPorts, body: UserBody, context: CommandContext): Promise<PersonRow> {
  const person = toPerson(body)
  return runCommand(ports, context, async (command) => {
    const { tx, provider, at } = command
    const former = person.externalId === null ? undefined : await deletedPerson(tx, provider.id, person.externalId)
    await command.lock(former ? [former.id] : [])
    if (former) {
      await change(ports, command, former, person, null)
      return stored(command, former.id)
    }
    if ((await countPeople(tx, provider.id)) >= ports.settings.maxUsers) throw tooMany('people of the provider')
    const id = ports.ids.next<'account'>()
    const institutionId = ports.ids.next<'institution'>()
    const added = { ...person, id, institutionId, providerId: provider.id }
    if (!(await insertPerson(tx, added, at))) throw notUnique()
    await link(ports, command, added)
    await command.record(id, { change: 'created', status: person.active ? 'ACTIVE' : 'SUSPENDED' })
    return stored(command, id)
  })
}

export function replacePerson(
  ports: ProvisioningPorts,
  { id, body }: { id: string; body: UserBody },
  context: CommandContext,
): Promise<PersonRow> {
  return changePerson(ports, id, (person) => ({ ...toPerson(body), active: body.active ?? person.active }), context)
}

export function patchOfPerson(
  ports: ProvisioningPorts,
  { id, operations }: { id: string; operations: readonly PatchOperation[] },
  context: CommandContext,
): Promise<PersonRow> {
  return changePerson(ports, id, (person) => patchPerson(person, operations), context)
}

/** Keeps the account, which orders and the audit log refer to. */
export async function deletePerson(ports: ProvisioningPorts, id: string, context: CommandContext): Promise<void> {
  await runCommand(ports, context, async (command) => {
    const row = assertFound(await personById(command.tx, command.provider.id, id), 'no such person of the provider')
    await command.lock([row.id])
    // The account may have changed before the lock.
    const current = await stored(command, row.id)
    await leaveGroups(command.tx, row.id)
    await change(ports, command, current, { ...toFacts(current), active: false }, command.at)
  })
}

export function notUnique(): Refusal {
  return new Refusal('PROVISIONING.NOT_UNIQUE', { internal: 'another resource has a unique attribute' })
}

function changePerson(
  ports: ProvisioningPorts,
  id: string,
  next: (person: Person) => Person,
  context: CommandContext,
): Promise<PersonRow> {
  return runCommand(ports, context, async (command) => {
    const row = assertFound(await personById(command.tx, command.provider.id, id), 'no such person of the provider')
    await command.lock([row.id])
    // The account may have changed before the lock.
    const current = await stored(command, row.id)
    await change(ports, command, current, next(toFacts(current)), null)
    return stored(command, row.id)
  })
}

/** `deletedAt` is null for a person who is not deleted. */
async function change(
  ports: ProvisioningPorts,
  command: Command,
  current: PersonRow,
  person: Person,
  deletedAt: Instant | null,
): Promise<void> {
  const { tx, provider, at } = command
  const { status, suspendedByProvider } = nextStatus(current, person.active)
  const changed = { ...person, id: current.id, status, suspendedByProvider, deletedAt }
  if (!(await updatePerson(tx, provider.id, changed, at))) throw notUnique()
  if (person.externalId !== current.externalId || current.deletedAt !== null) await link(ports, command, changed)
  const isActive = status === 'ACTIVE'
  const isOther = person.email !== current.email || person.externalId !== current.externalId
  if ((current.status === 'ACTIVE' && !isActive) || isOther) {
    await command.endSessions(current.id)
    await command.applyGroups(current.id, false)
  }
  if (isActive && (isOther || current.status !== 'ACTIVE')) await command.applyGroups(current.id, true)
  const fields = differences(current, person)
  await command.record(current.id, {
    change: deletedAt === null ? 'changed' : 'deleted',
    ...(status !== current.status && { status }),
    ...(fields.length > 0 && { fields: fields.join(',') }),
  })
}

/** Only operators lift what operators have decided. */
function nextStatus(
  { status, suspendedByProvider }: PersonRow,
  active: boolean,
): { status: AccountStatus; suspendedByProvider: boolean } {
  if (!active)
    return status === 'ACTIVE' ? { status: 'SUSPENDED', suspendedByProvider: true } : { status, suspendedByProvider }
  if (status === 'ACTIVE') return { status, suspendedByProvider: false }
  if (status !== 'SUSPENDED' || !suspendedByProvider) throw conflict('an operator has suspended the account')
  return { status: 'ACTIVE', suspendedByProvider: false }
}

async function link(
  ports: ProvisioningPorts,
  { tx, provider, at }: Command,
  { id, externalId }: Pick<PersonRow, 'id' | 'externalId'>,
): Promise<void> {
  const identity = {
    id,
    bizId: ports.ids.next<'identity'>(),
    issuer: provider.issuer,
    providerId: provider.id,
    externalId,
  }
  if (!(await linkIdentity(tx, identity, at))) throw notUnique()
}

async function stored({ tx, provider }: Command, id: string): Promise<PersonRow> {
  return assertFound(await personById(tx, provider.id, id), 'no such person of the provider')
}

function toFacts({ status, ...person }: PersonRow): Person {
  const { userName, externalId, formatted, givenName, familyName, displayName, email } = person
  return { userName, externalId, formatted, givenName, familyName, displayName, email, active: status === 'ACTIVE' }
}

/** Names of changed attributes, for the audit log. Values are personal data. */
function differences(current: PersonRow, person: Person): string[] {
  const before = toFacts(current)
  const names = ['userName', 'externalId', 'formatted', 'givenName', 'familyName', 'displayName', 'email'] as const
  return names.filter((name) => before[name] !== person[name])
}
