import type { z } from 'zod'
import type { DeploymentPort, DomainPorts } from '../../src/api/domain.ts'
import {
  createMembers,
  type Members,
  membershipSettings as membershipSettingsOf,
} from '../../src/banking/members/index.ts'
import type { createWallets } from '../../src/banking/wallets/index.ts'
import { createWorkspaces, hasWorkspace, lockWorkspace, type Workspaces } from '../../src/banking/workspaces/index.ts'
import { localeDirectories } from '../../src/compose/catalogue.ts'
import { bankingCatalogue, codedFamilies, codes, permissionTable } from '../../src/contract/index.ts'
import { type Database, inTransaction, type OpenDatabase, type Tx } from '../../src/database/index.ts'
import { parsePathParameters } from '../../src/gateway/pipeline/stages/input.ts'

import {
  type AccountId,
  type Caller,
  type HandlerTable,
  type Instant,
  type Locale,
  type Operation,
  type Permission,
  type Portal,
  Refusal,
  toDate,
  toInstant,
  type WorkspaceAccess,
} from '../../src/kernel/index.ts'
import type { Outgoing, OutgoingRules } from '../../src/ledger/index.ts'
import { createWords } from '../../src/platform/i18n/words.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { createRequestContext, parseInput } from '../harness/request-context.ts'
import { testSettings } from '../harness/settings.ts'
import { testDatabase } from '../identity/database.ts'

export const words = createWords({
  directories: localeDirectories,
  codes,
  families: codedFamilies,
})

export const {
  access: accessSettings,
  mfa: { stepUpMs },
} = testSettings({})

/** The order types of the banking domains, with the flow types and house accounts of the ledger. */
export const { ledgerTypes: types } = bankingCatalogue

/** The port `transaction` of domains. */
export function transactionOf(database: Database): DomainPorts['transaction'] {
  return (work) => inTransaction(database, work)
}

/** Rules of a ledger without a sum above which a step-up is required. */
export const unlimitedOutgoing: OutgoingRules = {
  above: null,
  apiKeys: 'refuse',
  stepUpMs,
  findRate: async () => undefined,
}

/** Returns the field `outgoing` of an order that a test creates in the ledger. */
export function outgoingOf(minor: bigint, caller: Caller, at: Instant): Outgoing {
  return {
    amount: { minor, currency: 'USD' },
    by: { caller, receivedAt: at },
  }
}

/** Disables the hold on new owners. */
export const unlimitedPayouts = { assertNotHeld: async () => undefined }

/** Members of withdrawal channels, who may do everything. */
export const trustingMembers = {
  ...unlimitedPayouts,
  assertAccess: async () => ({ kind: 'LIVE' as const }),
  assertMayRestore: async () => undefined,
}

/** Port of domains that create credentials: the callers of tests have no session. */
export async function alwaysOpen(_tx: Tx, _caller: Caller): Promise<void> {
  return undefined
}

/** Port of domains that create one-time URLs: the callers of tests have no session. */
export function noLinks(): Promise<never> {
  return Promise.reject(new Error('no session'))
}

const membershipSettings = membershipSettingsOf(accessSettings, stepUpMs)

/** As `compose` does. */
function createTestMembers(database: Database, settings = membershipSettings): Members {
  return createMembers({
    database,
    transaction: transactionOf(database),
    ids: systemIds,
    words,
    permissionTable: permissionTable.workspace,
    settings,
    lockWorkspace,
    hasWorkspace: (id) => hasWorkspace(database, id),
  })
}

export function walletMembers(database: Database): Parameters<typeof createWallets>[0]['members'] {
  const { memberships } = createTestMembers(database)
  return memberships
}

export function testClock(start = '2026-03-01T09:00:00Z') {
  let now = Date.parse(start)
  return {
    now: (): Instant => toInstant(now),
    advance: (milliseconds: number) => {
      now += milliseconds
    },
  }
}
export type TestClock = ReturnType<typeof testClock>

export interface CallInput {
  as: AccountId | Caller
  workspace?: string
  body?: unknown
  query?: Record<string, string>
  params?: Record<string, string>
  locale?: Locale
  /** Access that was read earlier. By default, access is read now. */
  access?: WorkspaceAccess
}

export type ReplyOf<O extends Operation> = O['reply'] extends z.ZodType ? z.output<O['reply']> : never

export interface World extends Pick<OpenDatabase, 'withoutTimeouts'> {
  database: Database
  clock: TestClock
  workspaces: Workspaces
  members: Members
  /** The handlers of workspaces and members. */
  handlers: HandlerTable
  limits: typeof membershipSettings
  account(email: string, portal?: Portal): Promise<AccountId>
  workspaceOf(owner: AccountId, name?: string, kind?: 'LIVE' | 'SANDBOX'): Promise<string>
  /** Creates a role for the account. Returns the id of the role. */
  join(workspace: string, account: AccountId, permissions: Permission[]): Promise<string>
  call<O extends Operation>(handlers: HandlerTable, operation: O, input: CallInput): Promise<ReplyOf<O>>
  close(): Promise<void>
}

export function callerOf(accountId: AccountId, portal: Portal = 'CONSUMER'): Caller {
  return {
    accountId,
    portal,
    sessionId: null,
    apiKeyId: null,
    steppedUpAt: null,
    permissions: new Set(),
  }
}

export async function insertAccount(
  database: Database | Tx,
  email: string,
  at: Instant,
  portal: Portal = 'CONSUMER',
): Promise<AccountId> {
  const id = systemIds.next<'account'>()
  const now = toDate(at)
  await database
    .insertInto('accounts')
    .values({
      bizId: id,
      portal,
      institutionBizId: systemIds.next(),
      accountStatus: 'ACTIVE',
      email,
      emailCanonical: email.toLowerCase(),
      emailVerifiedAt: now,
      accountName: email,
      remark: null,
      passwordHash: null,
      defaultLanguage: 'en',
      defaultTimezone: 'Europe/Berlin',
      defaultCountry: 'DE',
      lastLoginIp: null,
      createdAt: now,
      updatedAt: now,
    })
    .execute()
  return id
}

/** `call` runs handlers like the pipeline. */
export async function createWorld(open = testDatabase): Promise<World> {
  const { database, close } = await open()
  const clock = testClock()
  const limits = { ...membershipSettings }
  const members = createTestMembers(database, limits)
  const workspaces = createWorkspaces({
    database,
    transaction: transactionOf(database),
    words,
    ids: systemIds,
    members: members.memberships,
    openWallets: async () => undefined,
    countPendingOrders: async () => ({ withdrawals: 0, transfers: 0, recharges: 0 }),
  })

  const account = (email: string, portal?: Portal) => insertAccount(database, email, clock.now(), portal)

  const workspaceOf: World['workspaceOf'] = async (ownerId, name = 'Workspace', kind = 'LIVE') => {
    const at = clock.now()
    const opened = await database
      .transaction()
      .execute((tx) => workspaces.openWithWallets(tx, { ownerId, name, kind, joinSource: 'CREATION', at }))
    return opened.workspaceId
  }

  const join: World['join'] = async (workspace, accountId, permissionCodes) => {
    const access = await database
      .selectFrom('workspaces')
      .select('bizId')
      .where('bizId', '=', workspace as never)
      .executeTakeFirstOrThrow()
    const workspaceId = access.bizId
    const id = systemIds.next<'role'>()
    const at = clock.now()
    await database.transaction().execute(async (tx) => {
      await workspaces.addRole(tx, { id, workspaceId, name: `role ${id}`, type: 'CUSTOM', permissionCodes }, at)
      const member = { workspaceId, accountId, roleId: id, joinSource: 'INVITATION', grantedBy: null } as const
      await members.memberships.add(tx, member, at)
    })
    return id
  }

  const call: World['call'] = async (handlers, operation, input) => {
    const { policy, body, query, reply, id } = operation
    const caller = typeof input.as === 'string' ? { ...callerOf(input.as), steppedUpAt: clock.now() } : input.as
    const access =
      policy.workspace === 'none' ? null : (input.access ?? (await members.enter(caller, input.workspace ?? null)))
    if (policy.permission && access && !access.permissions.has(policy.permission)) {
      throw new Refusal('ACCESS.PERMISSION_DENIED')
    }
    const handler = handlers.get(id)
    if (!handler) throw new Error(`no handler for ${id}`)
    // The pipeline's types derive these properties from the policy, checked above.
    const request = {
      ...createRequestContext(clock, { operationId: id, requestId: systemIds.next(), portal: caller.portal }),
      locale: input.locale ?? 'en',
      clientIp: '203.0.113.7',
      params: parsePathParameters(operation, input.params ?? {}),
      query: parseInput(query, input.query ?? {}),
      body: parseInput(body, input.body ?? {}),
      caller,
      workspace: access,
      idempotency: null,
      upload: null,
    }
    const result = await handler(request as never)
    return (typeof reply === 'object' ? reply.parse(result) : result) as never
  }

  const withoutTimeouts: World['withoutTimeouts'] = (work) => work(database)
  const handlers = new Map([...workspaces.handlers, ...members.handlers])
  return {
    database,
    withoutTimeouts,
    clock,
    workspaces,
    members,
    handlers,
    limits,
    account,
    workspaceOf,
    join,
    call,
    close,
  }
}

/** Returns `none` if the call succeeds. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
  return 'none'
}

/** A portal that the configuration of a deployment adds. */
export const merchant = 'MERCHANT' as string as Portal

export const portals: readonly Portal[] = ['CONSUMER', 'SYSTEM', merchant]

/** Every domain is on. */
export const deployment: Pick<DeploymentPort, 'codesOf'> = {
  codesOf: (family) => bankingCatalogue.codedFamilies.get(family)?.codes ?? [],
}
