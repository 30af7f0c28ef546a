import { z } from 'zod'
import { type AccountCommandPorts, changeAccountStatus, terminateSessions } from '../../banking/operators/index.ts'
import { withAccountCommands } from '../../compose/commands/accounts.ts'
import { loadConfigured } from '../../compose/extensions.ts'
import { migrateStore } from '../../compose/migrations.ts'
import { loadConfiguration } from '../../config/index.ts'
import { type AccountId, messageOf, Refusal } from '../../kernel/index.ts'
import type { AuditContext } from '../../platform/audit/index.ts'
import { systemClock, systemIds } from '../../platform/runtime/index.ts'
import { createLogger } from '../../platform/telemetry/index.ts'
import {
  type Command,
  type CommandContext,
  onlyOneProcess,
  parseOptions,
  reasonHelp,
  reasonOption,
  reasonText,
} from '../command.ts'
import { withExistingStore } from '../store.ts'
import { type FoundAccount, portalHelp, readAccount } from './account.ts'

const Options = z.object({
  portal: z.string().optional(),
  reason: reasonText,
  'allow-last': z.boolean().default(false),
})

const accountOptions: Command['options'] = { portal: { type: 'string' }, ...reasonOption }
const allowLast = { 'allow-last': { type: 'boolean' } } as const satisfies Command['options']
const lastHelp = '  --allow-last             even the last active operator who can manage operators'
const accountHelp = '  account                  e-mail address or id of the account'

export const accountSuspend: Command = {
  name: 'account suspend',
  argument: 'account',
  summary: 'suspend an account and end its sessions',
  help: [
    accountHelp,
    portalHelp,
    reasonHelp,
    lastHelp,
    '',
    'The account gets a mail with the reason. Running gateways end its sessions within a second.',
    onlyOneProcess,
  ].join('\n'),
  options: { ...accountOptions, ...allowLast },
  run: (values, context) => changeStatus(accountSuspend.name, values, context, 'suspend'),
}

export const accountReactivate: Command = {
  name: 'account reactivate',
  argument: 'account',
  summary: 'reactivate a suspended account',
  help: [
    accountHelp,
    portalHelp,
    reasonHelp,
    '',
    'The account gets a mail with the reason. Its earlier sessions stay ended.',
    onlyOneProcess,
  ].join('\n'),
  options: accountOptions,
  run: (values, context) => changeStatus(accountReactivate.name, values, context, 'reactivate'),
}

export const operatorSuspend: Command = {
  name: 'operator suspend',
  argument: 'account',
  summary: 'suspend an operator and end its sessions',
  help: [
    accountHelp,
    reasonHelp,
    lastHelp,
    '',
    'The operator gets a mail with the reason. Running gateways end its sessions within a second. `account reactivate`',
    'with --portal SYSTEM ends the suspension. If nobody can sign in, `operator create` makes a new operator.',
    onlyOneProcess,
  ].join('\n'),
  options: { ...reasonOption, ...allowLast },
  run: (values, context) => changeStatus(operatorSuspend.name, { ...values, portal: 'SYSTEM' }, context, 'suspend'),
}

export const accountEndSessions: Command = {
  name: 'account end-sessions',
  argument: 'account',
  summary: 'end the sessions of an account, and suspend what acts for it',
  help: [
    accountHelp,
    portalHelp,
    reasonHelp,
    '',
    'Suspends the API keys, webhooks and payout accounts that the account created, and forgets its devices. Running',
    'gateways end the sessions within a second.',
    onlyOneProcess,
  ].join('\n'),
  options: accountOptions,
  run: async (values, context) => {
    const { account, result } = await runOnAccount(accountEndSessions.name, values, context, (ports, input, audit) =>
      terminateSessions(ports, input, audit),
    )
    const { ended, suspended } = result
    const credentials = Object.entries(suspended).filter(([, count]) => count > 0)
    context.print(
      { ...account, terminatedSessions: ended, suspendedCredentials: suspended },
      [
        `ended ${ended} sessions of ${account.email}\n`,
        ...credentials.map(([domain, count]) => `suspended ${count} of ${domain}\n`),
      ].join(''),
    )
    return 0
  },
}

async function changeStatus(
  name: string,
  values: Record<string, unknown>,
  context: CommandContext,
  command: 'suspend' | 'reactivate',
): Promise<number> {
  const { account, result } = await runOnAccount(name, values, context, (ports, input, audit) =>
    changeAccountStatus(ports, { ...input, command }, audit),
  )
  context.print({ ...account, status: result.status }, `${account.email} is ${result.status}\n`)
  return 0
}

interface Input {
  id: AccountId
  reason: string
  allowsLastManager: boolean
}

async function runOnAccount<T>(
  name: string,
  { account, ...values }: Record<string, unknown>,
  { domains, variables, stderr }: CommandContext,
  work: (ports: AccountCommandPorts, input: Input, audit: AuditContext<null>) => Promise<T>,
): Promise<{ account: Pick<FoundAccount, 'id' | 'portal' | 'email'>; result: T }> {
  const settings = loadConfiguration(variables, domains)
  const { portal, reason, 'allow-last': allowsLastManager } = parseOptions(Options, values)
  const loaded = await loadConfigured(domains, settings)
  const {
    id,
    portal: on,
    email,
  } = await withExistingStore(settings, async (store) => {
    await migrateStore(store, loaded.owners, settings)
    return readAccount(store.database, settings, { account, portal })
  })
  const logger = createLogger('error', 2, settings.log.format)
  const onWithoutRedis = (error: unknown): void =>
    void stderr.write(
      `portico: continues without Redis, which resets no counter of mailed codes: ${messageOf(error)}\n`,
    )
  const audit: AuditContext<null> = {
    operationId: name,
    accountId: null,
    apiKeyId: null,
    portal: 'SYSTEM',
    at: systemClock.now(),
    requestId: systemIds.next(),
    clientIp: '',
  }
  try {
    const result = await withAccountCommands(loaded, settings, { logger, onWithoutRedis }, (ports) =>
      work(ports, { id, reason, allowsLastManager }, audit),
    )
    return { account: { id, portal: on, email }, result }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Error(`nothing was changed: ${error.detail.internal ?? error.message}`, { cause: error })
  }
}
