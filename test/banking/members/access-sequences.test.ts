import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import * as invitations from '../../../src/banking/invitations/contract.ts'
import { createInvitations } from '../../../src/banking/invitations/index.ts'
import { leaveWorkspace, limitMember } from '../../../src/banking/members/contract.ts'
import * as roles from '../../../src/banking/roles/contract.ts'
import { createRoles } from '../../../src/banking/roles/index.ts'
import { freezeWorkspace, unfreezeWorkspace } from '../../../src/banking/workspaces/contract.ts'
import { permissionTable } from '../../../src/contract/index.ts'
import { type AccountId, type HandlerTable, type Permission, Refusal } from '../../../src/kernel/index.ts'

import { systemIds } from '../../../src/platform/runtime/index.ts'
import { accessSettings, alwaysOpen, callerOf, createWorld, refusalOf, transactionOf, words } from '../world.ts'
import { type Command, createAccessModel } from './access-model.ts'

const world = await createWorld()
afterAll(() => world.close())
const { database } = world
const { memberships: members, notices } = world.members
const shared = {
  assertSessionOpen: alwaysOpen,
  database,
  transaction: transactionOf(database),
  words,
  ids: systemIds,
  members,
  notices,
}
const unbounded = { ...accessSettings.invitations, maxPerDay: 1_000, maxPerDayToAddress: 1_000 }
const mailer = { send: async () => undefined }
const handlers: HandlerTable = new Map([
  ...world.handlers,
  ...createRoles({ ...shared, permissionTable: permissionTable.workspace, settings: accessSettings.roles }).handlers,
  ...createInvitations({
    ...shared,
    mailer,
    signInUrl: () => '',
    isRefusedEmail: () => false,
    settings: unbounded,
  }).handlers,
])
const operator = await world.account('operator@example.test', 'SYSTEM')

const peopleCount = 4
const permissions: Permission[] = ['role:manage', 'member:manage', 'invitation:manage', 'wallet:read']

let serial = 0
async function openWorkspace() {
  serial += 1
  const emails = Array.from({ length: peopleCount }, (_, index) => `person${serial}-${index}@example.test`)
  const people: AccountId[] = []
  for (const email of emails) people.push(await world.account(email))
  const person = (index: number): AccountId => people[index] ?? operator
  const workspace = await world.workspaceOf(person(0))
  const [owners] = await world.call(handlers, roles.listRoles, { as: person(0), workspace })
  const roleIds = [owners?.bizId ?? '']

  const findInvitation = async (as: AccountId): Promise<string> => {
    const query = { invitationStatus: 'PENDING' }
    const [offer] = await world.call(handlers, invitations.listMyInvitations, { as, query })
    return offer?.bizId ?? systemIds.next()
  }
  const roleInput = (index: number) => ({ roleBizId: roleIds[index % roleIds.length] ?? '' })

  const execute = async (command: Command, isFrozen: boolean): Promise<unknown> => {
    const context = { as: 'by' in command ? person(command.by) : operator, workspace }
    const params = { workspace_id: workspace }
    switch (command.kind) {
      case 'create': {
        const body = { roleName: `Role ${roleIds.length}`, permissionCodes: command.permissions }
        return roleIds.push((await world.call(handlers, roles.createRole, { ...context, body })).bizId)
      }
      case 'grant': {
        const body = { ...roleInput(command.role), permissionCodes: command.permissions }
        return world.call(handlers, roles.setRolePermissions, { ...context, body })
      }
      case 'assign': {
        const body = { userBizId: person(command.to), ...roleInput(command.role) }
        return world.call(handlers, roles.changeMemberRole, { ...context, body })
      }
      case 'invite': {
        const body = { email: emails[command.to], ...roleInput(command.role) }
        return world.call(handlers, invitations.createInvitation, { ...context, body })
      }
      case 'accept': {
        const body = { invitationBizId: await findInvitation(context.as) }
        return world.call(handlers, invitations.acceptInvitation, { as: context.as, body })
      }
      case 'leave':
        return world.call(handlers, leaveWorkspace, context)
      case 'limit': {
        const body = { userBizId: person(command.to), policyConfig: command.limit, reason: 'no' }
        return world.call(handlers, limitMember, { as: operator, params, body })
      }
      case 'freeze': {
        const body = { reason: 'no' }
        return world.call(handlers, isFrozen ? unfreezeWorkspace : freezeWorkspace, { as: operator, params, body })
      }
    }
  }
  const permissionsOf = async (index: number): Promise<Set<string> | null> => {
    try {
      return new Set((await world.members.enter(callerOf(person(index)), workspace)).permissions)
    } catch (error) {
      if (error instanceof Refusal) return null
      throw error
    }
  }
  return { execute, permissionsOf }
}

const [by, to, role] = [fc.nat(peopleCount - 1), fc.nat(peopleCount - 1), fc.nat(3)]
const some = fc.uniqueArray(fc.constantFrom(...permissions))
const limit = fc.constantFrom(null, { enterable: false }, { readOnly: true }, { readOnly: true })
function kind<const K extends string>(name: K) {
  return fc.constant(name)
}
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: kind('create'), by, permissions: some }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('grant'), by, role, permissions: some }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('assign'), by, to, role }) },
  { weight: 5, arbitrary: fc.record({ kind: kind('invite'), by, to, role }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('accept'), by }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('leave'), by }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('limit'), to, limit }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('freeze') }) },
)

/** Two owners, a member who can only invite and create roles, and an outsider. */
const initialCommands: Command[] = [
  { kind: 'create', by: 0, permissions: ['role:manage', 'invitation:manage'] },
  { kind: 'create', by: 0, permissions },
  { kind: 'invite', by: 0, to: 1, role: 0 },
  { kind: 'accept', by: 1 },
  { kind: 'invite', by: 0, to: 2, role: 1 },
  { kind: 'accept', by: 2 },
]

const sequences = fc.array(command, { minLength: 40, maxLength: 60, size: 'max' })
const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)

test('access: random sequences of commands lead to the permissions of the model', async () => {
  const property = fc.asyncProperty(sequences, async (commands) => {
    const real = await openWorkspace()
    const model = createAccessModel()
    for (const one of [...initialCommands, ...commands]) {
      const { isFrozen } = model
      const call = real.execute(one, isFrozen())
      const normalized = 'role' in one ? { ...one, role: one.role % model.roles.length } : one
      expect(await refusalOf(call), JSON.stringify(one)).toBe(model.execute(normalized))
      world.clock.advance(1)
    }
    for (let who = 0; who < peopleCount; who++) expect(await real.permissionsOf(who)).toEqual(model.permissionsOf(who))
  })
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  await fc.assert(property, { seed, numRuns: 12 })
})
