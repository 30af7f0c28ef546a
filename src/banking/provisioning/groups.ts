import type { GroupBody, PatchOperation } from '../../contract/scim/schemas.ts'
import { type AccountId, assertFound, invalid } from '../../kernel/index.ts'
import { type Command, type CommandContext, type ProvisioningPorts, runCommand } from './command.ts'
import {
  addMembers,
  countGroups,
  deleteGroup,
  type GroupId,
  type GroupRow,
  groupById,
  insertGroup,
  membersOf,
  removeMembers,
  updateGroup,
} from './group-store.ts'
import { notUnique } from './people.ts'
import { type GroupFacts, patchGroup, toGroupFacts, tooMany } from './scim/group.ts'
import { knownPeople } from './store.ts'

/*
 * The groups of an identity provider, which the setting `groups` maps to roles of operators. A person who leaves a group loses
 * its permissions in the same transaction. A person who joins one gets a proposal, which an operator has to confirm.
 */

export function createGroup(ports: ProvisioningPorts, body: GroupBody, context: CommandContext): Promise<GroupRow> {
  const facts = toGroupFacts(body)
  return runCommand(ports, context, async (command) => {
    const { tx, provider, at } = command
    const members = await people(command, facts.members)
    await command.lock(members)
    if ((await countGroups(tx, provider.id)) >= ports.settings.maxGroups) throw tooMany('groups of the provider')
    const names = { displayName: facts.displayName, externalId: facts.externalId }
    const added = { ...names, id: ports.ids.next<'provisionedGroup'>(), providerId: provider.id }
    const row = await insertGroup(tx, added, at)
    if (!row) throw notUnique()
    await addMembers(tx, row.id, members)
    for (const id of members) await command.applyGroups(id, true)
    await command.record(row.id, { change: 'created', added: members.length })
    return row
  })
}

export function replaceGroup(
  ports: ProvisioningPorts,
  { id, body }: { id: string; body: GroupBody },
  context: CommandContext,
): Promise<GroupRow> {
  return changeGroup(ports, id, () => toGroupFacts(body), context)
}

export function patchOfGroup(
  ports: ProvisioningPorts,
  { id, operations }: { id: string; operations: readonly PatchOperation[] },
  context: CommandContext,
): Promise<GroupRow> {
  return changeGroup(ports, id, (group) => patchGroup(group, operations), context)
}

export async function removeGroup(ports: ProvisioningPorts, id: string, context: CommandContext): Promise<void> {
  await runCommand(ports, context, async (command) => {
    const { tx, provider } = command
    const row = await found(command, id)
    const members = await memberIds(command, row.id)
    await command.lock(members)
    await deleteGroup(tx, provider.id, row.id)
    for (const member of members) await command.applyGroups(member, true)
    await command.record(row.id, { change: 'deleted', removed: members.length })
  })
}

/** Only people of the provider can be members. Those who have gone can still be removed. */
function changeGroup(
  ports: ProvisioningPorts,
  id: string,
  next: (group: GroupFacts) => GroupFacts,
  context: CommandContext,
): Promise<GroupRow> {
  return runCommand(ports, context, async (command) => {
    const { tx, provider, at } = command
    const row = await found(command, id)
    const before = await memberIds(command, row.id)
    const facts = next({ ...row, members: new Set(before) })
    const added = await people(command, new Set([...facts.members].filter((one) => !before.some((id) => id === one))))
    const removed = before.filter((one) => !facts.members.has(one))
    const isRenamed = facts.displayName !== row.displayName || facts.externalId !== row.externalId
    // A new name can map to another role.
    const affected = isRenamed ? [...before, ...added] : [...added, ...removed]
    await command.lock(affected)
    const changed = await updateGroup(tx, { ...facts, id: row.id, providerId: provider.id }, at)
    if (!changed) throw notUnique()
    await addMembers(tx, row.id, added)
    await removeMembers(tx, row.id, removed)
    for (const member of affected) await command.applyGroups(member, true)
    await command.record(row.id, {
      change: 'changed',
      ...(isRenamed && { fields: 'name' }),
      added: added.length,
      removed: removed.length,
    })
    return changed
  })
}

async function found({ tx, provider }: Command, id: string): Promise<GroupRow> {
  return assertFound(await groupById(tx, provider.id, id), 'no such group of the provider')
}

async function memberIds({ tx }: Command, id: GroupId): Promise<AccountId[]> {
  return (await membersOf(tx, [id])).map((member) => member.id)
}

/** Throws VALIDATION.INVALID_PARAMETER for an id of anybody else. */
async function people({ tx, provider }: Command, ids: ReadonlySet<string>): Promise<AccountId[]> {
  const known = await knownPeople(tx, provider.id, [...ids])
  if (known.length !== ids.size) throw invalid('members', 'a member does not belong to the provider')
  return known
}
