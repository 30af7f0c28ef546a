import { z } from 'zod'
import { workspaceById } from '../../banking/members/index.ts'
import { type CommandLinePorts, changePermissions, restoreOwner } from '../../banking/proposals/index.ts'
import { catalogueOf, loadConfigured } from '../../compose/extensions.ts'
import { migrateStore } from '../../compose/migrations.ts'
import { type Configuration, loadConfiguration } from '../../config/index.ts'
import type { Database, OpenDatabase, SchemaOwner, Tx } from '../../database/index.ts'
import { accountByEmail } from '../../identity/index.ts'
import { type AccountId, bizId, isBizId, type Permission, type Portal, Refusal } from '../../kernel/index.ts'
import {
  assertDomains,
  type Command,
  type CommandContext,
  onlyOneProcess,
  parseOptions,
  reasonHelp,
  reasonOption,
  reasonText,
} from '../command.ts'
import { auditCommand, storePorts, withExistingStore } from '../store.ts'
import { parsePermissions } from './create-operator.ts'
import { membersIn } from './members.ts'

const RightsOptions = z.object({
  email: z.string('--email is required: the e-mail address of the operator'),
  permissions: z.string('--permissions is required: a comma-separated list'),
  reason: reasonText,
})

const rightsOptions: Command['options'] = {
  email: { type: 'string' },
  permissions: { type: 'string' },
  ...reasonOption,
}
const rightsHelp = [
  '  --email address          operator; unless `proposals` is off, it and all who manage operators get a mail',
  '  --permissions a,b        permissions, such as recharge:read,recharge:approve',
  reasonHelp,
  '',
]

export const operatorGrant: Command = {
  name: 'operator grant',
  summary: 'grant permissions to an operator, without a second operator',
  help: [...rightsHelp, 'A running gateway applies the change within a second.', onlyOneProcess].join('\n'),
  options: rightsOptions,
  run: (values, context) => changeRights(operatorGrant.name, values, context, (add) => ({ add })),
}

export const operatorRevoke: Command = {
  name: 'operator revoke',
  summary: 'revoke permissions of an operator',
  help: [...rightsHelp, 'A running gateway applies the change within a second.', onlyOneProcess].join('\n'),
  options: rightsOptions,
  run: (values, context) => changeRights(operatorRevoke.name, values, context, (remove) => ({ remove })),
}

const OwnerOptions = z.object({
  email: z.string('--email is required: the e-mail address of the new owner'),
  workspace: z.string('--workspace is required: the id of the workspace').refine(isBizId, {
    error: '--workspace must be the id of a workspace',
  }),
  reason: reasonText,
})

export const ownerRestore: Command = {
  name: 'owner restore',
  summary: 'make an account an owner of a workspace without one',
  help: [
    '  --workspace id           workspace that has no active owner who can run it',
    '  --email address          account on the portal of the workspace; it, all owners and all who manage operators get a mail',
    reasonHelp,
    '',
    onlyOneProcess,
  ].join('\n'),
  options: { workspace: { type: 'string' }, email: { type: 'string' }, ...reasonOption },
  run: async (values, { domains, variables, print }) => {
    const settings = loadConfiguration(variables, domains)
    const { domains: loaded, owners } = await loadConfigured(domains, settings)
    assertDomains(ownerRestore.name, ['workspaces', 'members', 'proposals'], loaded)
    const { email, workspace, reason } = parseOptions(OwnerOptions, values)
    const workspaceId = bizId<'workspace'>(workspace)
    // An unknown workspace is refused below.
    const portal = async (store: Database) => (await workspaceById(store, workspaceId))?.portal ?? 'CONSUMER'
    await withAccount(settings, owners, { email, portal }, async ({ database }, accountId) => {
      const { memberships: members, notices } = membersIn(database, loaded, settings)
      const onChanged = (tx: Tx, detail: Record<string, string>) =>
        auditCommand(tx, { command: ownerRestore.name, reason }, { targetId: workspaceId, workspaceId, detail })
      const ports = { ...storePorts(database), members, notices, onChanged, sendsMail: true, reason }
      try {
        await restoreOwner(ports, { workspaceId, accountId })
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        throw new Error(`nothing was changed: ${error.message}`, { cause: error })
      }
    })
    print({ email, workspace: workspaceId }, `${email} is an owner of the workspace ${workspaceId}\n`)
    return 0
  },
}

async function changeRights(
  command: string,
  values: Record<string, unknown>,
  { domains, variables, print }: CommandContext,
  toChange: (permissions: Permission[]) => { add?: Permission[]; remove?: Permission[] },
): Promise<number> {
  const settings = loadConfiguration(variables, domains)
  const { domains: loaded, owners } = await loadConfigured(domains, settings)
  const { email, permissions, reason } = parseOptions(RightsOptions, values)
  const change = toChange(parsePermissions(catalogueOf(loaded).operatorPermissions, permissions))
  const changed = await withAccount(
    settings,
    owners,
    { email, portal: async () => 'SYSTEM' },
    ({ database }, accountId) => {
      const onChanged = (tx: Tx, detail: Record<string, string>) =>
        auditCommand(tx, { command, reason }, { targetId: accountId, detail })
      const sendsMail = loaded.some((domain) => domain.name === 'proposals')
      const ports: CommandLinePorts = { ...storePorts(database), onChanged, sendsMail, reason }
      return changePermissions(ports, accountId, change)
    },
  )
  if (!changed) throw new Error(`the permissions of ${email} are already so; nothing was changed`)
  print({ email, permissions: changed }, `${email} has ${changed.length} permissions: ${changed.join(',')}\n`)
  return 0
}

/** Runs `work` on an account of the configured store. Throws if the account does not exist. */
function withAccount<T>(
  settings: Configuration,
  owners: readonly SchemaOwner[],
  { email, portal: find }: { email: string; portal(store: Database): Promise<Portal> },
  work: (store: OpenDatabase, accountId: AccountId) => Promise<T>,
): Promise<T> {
  return withExistingStore(settings, async (store) => {
    await migrateStore(store, owners, settings)
    const portal = await find(store.database)
    const account = await accountByEmail(store.database, portal, email)
    if (!account) throw new Error(`${email} has no account on the ${portal} portal`)
    return work(store, account.id)
  })
}
