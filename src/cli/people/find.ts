import { z } from 'zod'
import { membershipsOf } from '../../banking/members/index.ts'
import { accountById, findAccounts, listOperatorAccounts, operatorRoles } from '../../banking/operators/index.ts'
import { catalogueOf, type Loaded, loadConfigured } from '../../compose/extensions.ts'
import { identitySettings } from '../../compose/identity.ts'
import { type Configuration, loadConfiguration } from '../../config/index.ts'
import type { Database } from '../../database/index.ts'
import { type AccountOverview, readAccountOverview } from '../../identity/index.ts'
import {
  type AccountStatus,
  type Instant,
  type Permission,
  type Portal,
  toIso,
  toIsoOrNull,
} from '../../kernel/index.ts'
import { createKeyedDigest } from '../../platform/crypto/index.ts'
import { systemClock } from '../../platform/runtime/index.ts'
import { type Command, type CommandContext, onlyOneProcess, parseOptions, UsageError } from '../command.ts'
import { withExistingStore } from '../store.ts'
import { toTable } from '../table.ts'
import { parsePortal, portalHelp, readAccount } from './account.ts'

const maxFound = 20
const maxOperators = 1_000

const Options = z.object({ portal: z.string().optional() })
const options: Command['options'] = { portal: { type: 'string' } }

export const accountFind: Command = {
  name: 'account find',
  argument: 'text',
  summary: 'find accounts by address, id, phone number or name',
  help: [
    '  text                     id, phone number such as +15551234567, or part of an e-mail address or a name',
    '  --portal name            CONSUMER, SYSTEM, or one of `portals` (default: all)',
    '',
    `Prints the ${maxFound} newest ones. Changes nothing.`,
    onlyOneProcess,
  ].join('\n'),
  options,
  run: ({ text, ...values }, context) =>
    withDatabase(context, async (database, settings) => {
      const { portal: option } = parseOptions(Options, values)
      const portal = option === undefined ? undefined : parsePortal(settings, option)
      if (typeof text !== 'string' || text.trim() === '')
        throw new UsageError('a text is required: an id, a phone number, or part of an address or a name')
      const found = await findAccounts(database, { text: text.trim(), portal, limit: maxFound + 1 })
      const accounts = found.slice(0, maxFound).map(toListed)
      const isIncomplete = found.length > maxFound
      context.print(
        { accounts, isIncomplete },
        found.length === 0
          ? 'no account matches\n'
          : `${accountTable(accounts)}${isIncomplete ? `only the ${maxFound} newest accounts are shown\n` : ''}`,
      )
      return found.length > 0 ? 0 : 1
    }),
}

export const accountShow: Command = {
  name: 'account show',
  argument: 'account',
  summary: 'show the state, factors, lockouts, workspaces and sessions of an account',
  help: [
    '  account                  e-mail address or id of the account',
    portalHelp,
    '',
    'Lockouts need the PORTICO_SECRET_KEY of the gateway. Changes nothing.',
    onlyOneProcess,
  ].join('\n'),
  options,
  run: ({ account: named, ...values }, context) =>
    withDatabase(context, async (database, settings, loaded) => {
      const { portal } = parseOptions(Options, values)
      const { id } = await readAccount(database, settings, { account: named, portal })
      const account = await accountById(database, id)
      const ports = { database, clock: systemClock, digest: createKeyedDigest(settings.secretKeys.reveal()) }
      const overview = account && (await readAccountOverview(ports, identitySettings(settings), account))
      if (!account || !overview) throw new Error('the account no longer exists')
      const hasMembers = loaded.domains.some(({ name }) => name === 'members')
      const workspaces = hasMembers ? (await membershipsOf(database, id)).map(toWorkspace) : []
      const shown = { ...toListed(account), phone: account.phone, ...toShown(overview), workspaces }
      context.print(shown, describe(shown))
      return 0
    }),
}

export const operatorList: Command = {
  name: 'operator list',
  summary: 'list the operators with their permissions',
  help: [
    `Prints up to ${maxOperators} accounts of the SYSTEM portal, with the role of \`operator create\` instead of its`,
    'permissions. --json has all permissions. Changes nothing.',
    onlyOneProcess,
  ].join('\n'),
  options: {},
  run: (_values, context) =>
    withDatabase(context, async (database, _settings, { domains }) => {
      const known = catalogueOf(domains).operatorPermissions
      const rows = await listOperatorAccounts(database, maxOperators)
      const operators = rows.map((row) => ({ ...toListed(row), permissions: row.permissions }))
      context.print(
        { operators },
        operators.length === 0
          ? 'no operators\n'
          : toTable([
              ['address', 'status', 'manages', 'last sign-in', 'permissions'],
              ...operators.map(({ email, status, lastLoginAt, permissions }) => [
                email,
                status,
                permissions.includes('operator:manage') ? 'yes' : 'no',
                lastLoginAt ?? 'never',
                roleOf(permissions, known) ?? (permissions.join(',') || 'none'),
              ]),
            ]),
      )
      return 0
    }),
}

/** The role of `operator create` with exactly these permissions. */
function roleOf(permissions: readonly Permission[], known: readonly Permission[]): string | undefined {
  return Object.entries(operatorRoles).find(([, holds]) =>
    known.every((each) => holds(each) === permissions.includes(each)),
  )?.[0]
}

async function withDatabase(
  { domains, variables }: CommandContext,
  work: (database: Database, settings: Configuration, loaded: Loaded) => Promise<number>,
): Promise<number> {
  const settings = loadConfiguration(variables, domains)
  const loaded = await loadConfigured(domains, settings)
  return withExistingStore(settings, ({ database }) => work(database, settings, loaded))
}

interface AccountFacts {
  id: string
  portal: Portal
  status: AccountStatus
  email: string
  name: string
  createdAt: Instant
  lastLoginAt: Instant | null
}

function toListed({ id, portal, status, email, name, createdAt, lastLoginAt }: AccountFacts) {
  return { id, portal, status, email, name, createdAt: toIso(createdAt), lastLoginAt: toIsoOrNull(lastLoginAt) }
}

function toShown({ passwordChangedAt, authenticatorSince, lockouts, sessions, signIns, ...facts }: AccountOverview) {
  return {
    ...facts,
    passwordChangedAt: toIsoOrNull(passwordChangedAt),
    authenticatorSince: toIsoOrNull(authenticatorSince),
    lockouts: lockouts.map(({ subject, until }) => ({ subject, until: toIso(until) })),
    sessions: sessions.map(({ sessionId, clientIp, userAgent, loginAt, lastActivityAt }) => ({
      id: sessionId,
      clientIp,
      userAgent,
      startedAt: toIso(loginAt),
      lastActivityAt: toIso(lastActivityAt),
    })),
    signIns: signIns.map(({ loginAt, clientIp, userAgent, failureReason }) => ({
      at: toIso(loginAt),
      result: failureReason ?? 'SUCCESS',
      clientIp,
      userAgent,
    })),
  }
}

function toWorkspace({
  workspaceId,
  workspaceName,
  workspaceKind,
  workspaceStatus,
  roleName,
  suspendedAt,
}: Awaited<ReturnType<typeof membershipsOf>>[number]) {
  const isSuspended = suspendedAt !== null
  return { id: workspaceId, name: workspaceName, kind: workspaceKind, status: workspaceStatus, roleName, isSuspended }
}

function accountTable(accounts: readonly ReturnType<typeof toListed>[]): string {
  return toTable([
    ['id', 'portal', 'status', 'address', 'name', 'last sign-in'],
    ...accounts.map(({ id, portal, status, email, name, lastLoginAt }) => [
      id,
      portal,
      status,
      email,
      name,
      lastLoginAt ?? 'never',
    ]),
  ])
}

type Shown = ReturnType<typeof toListed> &
  ReturnType<typeof toShown> & { phone: string; workspaces: ReturnType<typeof toWorkspace>[] }

function describe(shown: Shown): string {
  const { hasPassword, authenticatorSince, backupCodes, passkeys, ipWhitelistEnabled, lockouts } = shown
  const { sessions, signIns } = shown
  const facts = toTable([
    ['id', shown.id],
    ['portal', shown.portal],
    ['status', shown.status],
    ['address', shown.email],
    ['name', shown.name],
    ['phone', shown.phone || 'none'],
    ['created', shown.createdAt],
    ['password', hasPassword ? `since ${shown.passwordChangedAt}` : 'none'],
    ['authenticator', authenticatorSince ? `since ${authenticatorSince}` : 'none'],
    ['backup codes', `${backupCodes}`],
    ['passkeys', `${passkeys}`],
    ['IP whitelist', ipWhitelistEnabled ? 'on' : 'off'],
    ['lockouts', lockouts.map(({ subject, until }) => `${subject} until ${until}`).join(', ') || 'none'],
  ])
  return [
    facts,
    section('workspaces', shown.workspaces, ({ id, name, kind, status, roleName, isSuspended }) => [
      id,
      kind,
      status,
      isSuspended ? `${roleName} (suspended)` : roleName,
      name,
    ]),
    section('open sessions', sessions, ({ id, startedAt, clientIp, userAgent }) => [
      startedAt,
      clientIp,
      id,
      userAgent,
    ]),
    section('last sign-ins', signIns, ({ at, result, clientIp, userAgent }) => [at, result, clientIp, userAgent]),
  ].join('\n')
}

function section<T>(title: string, rows: readonly T[], toCells: (row: T) => string[]): string {
  return rows.length === 0 ? `${title}: none\n` : `${title}:\n${toTable(rows.map((row) => ['', ...toCells(row)]))}`
}
