import * as z from 'zod'
import { bizId, nothing, sessionId, timestamp } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import { everyPortal, own } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'

export const summary = 'Active sessions, the session limit, and the sign-in history.'

const ActiveSession = z.object({
  sessionId: bizId,
  clientIp: z.string(),
  userAgent: z.string(),
  loginTime: timestamp,
  lastActivityTime: timestamp,
  isCurrent: z.boolean(),
})

const SessionConfiguration = z.object({
  accountBizId: bizId,
  ssoEnabled: z.boolean(),
  maxSessions: z.int(),
  passwordChangedAt: timestamp.nullable(),
  lastLoginAt: timestamp.nullable(),
  lastLoginIp: z.string().nullable(),
})

const LoginHistoryEntry = z.object({
  bizId,
  loginTime: timestamp,
  clientIp: z.string(),
  userAgent: z.string(),
  loginResult: z.int().meta({ description: '1: success; 0: failure' }),
  failureReason: z.string().nullable(),
})

export const OwnSession = z.object({
  accountBizId: bizId,
  portal: z.string().meta({ title: 'accountPortal.code' }),
  idleExpiresAt: timestamp.meta({ description: 'When the session ends without further requests.' }),
  expiresAt: timestamp.meta({ description: 'When the session ends in any case.' }),
  steppedUpUntil: timestamp.nullable().meta({
    description: 'Null without a step-up, and always if a step-up confirms one command (`mfa.binding: purpose`).',
  }),
  workspaceBizId: bizId.nullable().meta({ description: 'The workspace of `X-Workspace-Id`.' }),
  permissionCodes: z
    .array(z.string())
    .meta({ description: 'In the workspace of `X-Workspace-Id`; without it, those of an operator.' }),
})

const get = { method: 'GET', chains: everyPortal, policy: own, body: 'none', refuses: [] } as const
const post = { method: 'POST', chains: everyPortal, policy: own } as const
const configuration = { path: '/security/sessions/config', reply: SessionConfiguration, refuses: [] } as const

export const readOwnSession = operation({
  ...get,
  id: 'sessions.self',
  path: '/security/self',
  summary: 'Get the account, its permissions, and when its session ends',
  description:
    'Does not count as activity, so it does not prolong the session. Send `X-Workspace-Id` for the permissions of a member.',
  policy: { ...own, workspace: 'optional' },
  describesCaller: true,
  reply: OwnSession,
})

export const listSessions = operation({
  ...get,
  id: 'sessions.list',
  path: '/security/sessions',
  summary: 'List the active sessions of the account',
  reply: z.array(ActiveSession),
})

export const readSessionConfig = operation({
  ...get,
  ...configuration,
  id: 'sessions.config',
  summary: 'Get the session configuration',
})

export const configureSessions = operation({
  ...post,
  ...configuration,
  id: 'sessions.configure',
  emits: ['session.ended'],
  summary: 'Set the session limit of the account',
  body: z.strictObject({ maxConcurrentSessions: z.int().min(1).max(100) }),
})

/** The same operation on the `self` chain, which both portals share. It replaces GET /security/config. */
export const readOwnSessionConfig = operation({
  ...get,
  ...configuration,
  id: 'sessions.selfConfig',
  chains: ['self'],
  summary: 'Get the session configuration on either portal',
  policy: { ...own, channel: 'none' },
})

export const listLoginHistory = operation({
  ...get,
  id: 'sessions.history',
  path: '/security/sessions/history',
  summary: 'List sign-ins and failed sign-ins of the account',
  query: listQuery(['loginTime'], {}),
  reply: page(LoginHistoryEntry),
})

export const terminateSession = operation({
  ...post,
  id: 'sessions.terminate',
  path: '/security/sessions/terminate',
  emits: ['session.ended'],
  summary: 'End a session of the account',
  body: z.strictObject({ sessionId }),
  reply: nothing,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const terminateAllSessions = operation({
  ...post,
  id: 'sessions.terminateAll',
  path: '/security/sessions/terminate-all',
  emits: ['session.ended'],
  summary: 'End all other sessions of the account',
  body: 'none',
  reply: z.object({ success: z.boolean(), terminatedSessions: z.int(), currentSessionRetained: z.boolean() }),
  refuses: [],
})
