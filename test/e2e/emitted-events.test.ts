import { describe, expect, test } from 'vitest'
import { narrowed } from '../../src/contract/events/caused.ts'
import { developmentIds } from '../../src/seed/development.ts'
import type { World } from '../../src/testing/suites/index.ts'
import { type Route, routes } from '../harness/catalogue.ts'
import { eventInputs } from '../harness/event-samples.ts'
import { passkeySettings } from '../harness/passkey-samples.ts'
import { bankingSamples } from '../harness/samples.ts'
import { describeSuites } from '../harness/world.ts'

/*
 * `emits` has what an operation can cause. A command may cause no other type, and its inputs here must cause every type
 * except those in `notSampled`.
 */

/** Types that a command causes in states that no input here has. */
const notSampled: Readonly<Record<string, readonly string[]>> = {
  // A refresh token that comes again. The reply is a refusal.
  'auth.refresh': ['session.ended'],
  // A copy of a passkey, and another session that was started with one.
  'mfa.stepUp': ['session.ended'],
  'passkeys.delete': ['session.ended'],
  // A portal that approves accounts. Nobody reads the feed of the new workspace before a first sign-in.
  'registration.complete': ['account.pending_approval', 'role.created'],
  // A mail that cannot be sent, and an earlier invitation that has just expired.
  'invitations.create': [...narrowed],
  // An invitation that has just expired.
  ...Object.fromEntries(
    ['workspaces.leave', 'workspaces.limitMember', 'roles.setPermissions', 'roles.changeMember', 'roles.removeMember']
      .concat('operators.suspendAccount')
      .map((id) => [id, ['invitation.expired']]),
  ),
  // An earlier proposal that has just expired.
  'proposals.proposeOwner': ['proposal.expired'],
  'proposals.proposePermissions': ['proposal.expired'],
  'proposals.revokePermissions': ['proposal.expired'],
  // The reset of an operator, and a reset with a delay. It is 0 in the tests.
  'proposals.resetFactor': ['proposal.pending', 'proposal.expired', 'proposal.scheduled'],
  // Other kinds of proposals, and members who had another role or were suspended.
  'proposals.confirm': [
    ...['proposal.scheduled', 'operator.permissions_changed', 'session.ended'],
    ...['member.role_changed', 'member.restored'],
  ],
}

const ofProvider = 'needs an identity provider; test/identity/providers and test/e2e/identity-providers.test.ts run it'

/** Commands without input here, and why. */
const notRun: Readonly<Record<string, string>> = {
  'exchanges.confirmRate': 'a second operator has to confirm what the first one has set',
  'operators.approveAccount': 'needs a portal that approves accounts',
  'operators.rejectAccount': 'needs a portal that approves accounts',
  'browserSessions.ticket': 'needs the cookie of a browser; test/e2e/shared-state/one-time-links.test.ts runs it',
  'files.link': 'needs the cookie of a browser; test/e2e/shared-state/one-time-links.test.ts runs it',
  'exports.link': 'needs the cookie of a browser; test/e2e/shared-state/one-time-links.test.ts runs it',
  'files.upload': 'its body is a form; the samples of files run it',
  'auth.providerInitiate': ofProvider,
  'auth.providerComplete': ofProvider,
  'browserSessions.startWithProvider': ofProvider,
  'providers.linkInitiate': ofProvider,
  'providers.link': ofProvider,
  'providers.unlink': ofProvider,
  'providers.logout': ofProvider,
  'providers.stepUpInitiate': ofProvider,
  'providers.stepUp': ofProvider,
  'proposals.invite': ofProvider,
  'secureChannel.open': 'needs the keys of a channel; test/identity/secure-channel runs it',
  'secureChannel.close': 'needs a channel; test/identity/secure-channel runs it',
}

const commands = routes.filter(
  ({ chainId, operation: { id, method, chains, reply } }) =>
    method !== 'GET' && typeof reply !== 'string' && chainId === chains[0] && !(id in notRun),
)

type Input = (typeof eventInputs)[string][number]
const inputsOf = ({ operation: { id } }: Route): readonly Input[] =>
  eventInputs[id] ?? [async ({ place }) => (await bankingSamples[id]?.(place)) ?? {}]

describe('the events of a command', () => {
  const adjust: Parameters<typeof describeSuites>[0]['adjust'] = ({ money, access, portals }) => {
    portals.CONSUMER.passkeys = passkeySettings
    access.workspaces.maxPerAccount = 1_000
    money.transferApprovalFrom = { USD: '1.00' }
  }
  describeSuites({ adjust }, ({ world }, portico) => {
    test.each(commands.map((route) => [route.name, route] as const))('%s: are those of `emits`', async (_, route) => {
      const { id, emits = [] } = route.operation
      const found = new Set<string>()
      for (const input of inputsOf(route)) {
        const place = await world().openPlace()
        const { headers, ...sample } = await input({ place, world: world(), portico: portico() })
        const before = await settle(world(), place.workspaceId)
        const given = { ...(Object.keys(sample).length > 0 ? {} : await world().validInputIn(place, route)), ...sample }
        const reply = await world().send(route, headers ?? world().headersFor(route, place.workspaceId), given)
        expect(reply.status, reply.text).toBe(200)
        for (const type of (await settle(world(), place.workspaceId, before)).types) found.add(type)
        // Nobody could read the feed of this workspace before.
        if (id === 'workspaces.create') for (const type of await typesInNew(world(), reply.body)) found.add(type)
      }
      expect([...found, ...(notSampled[id] ?? [])].sort()).toEqual([...emits].sort())
    })
  })

  test('are sampled, or excused in this file', () => {
    const emitting = routes.flatMap(({ operation: { id, emits = [] } }) => (emits.length > 0 ? [id] : []))
    expect(new Set(emitting).size).toBeGreaterThan(60)
    const tested = new Set(commands.map(({ operation }) => operation.id))
    expect(emitting.filter((id) => !tested.has(id) && !(id in notRun))).toEqual([])
    const known = new Set(routes.map(({ operation }) => operation.id))
    expect([...Object.keys(notRun), ...Object.keys(notSampled)].filter((id) => !known.has(id))).toEqual([])
  })
})

interface Feed {
  data: { events: { type: string; subject: string }[]; nextCursor: string; hasMore: boolean }
}
type Cursors = Record<'operators' | 'workspace', string | undefined>

async function typesInNew(world: World, reply: unknown): Promise<string[]> {
  const { data: workspace } = reply as { data: { bizId: string } }
  return (await readPage(world, workspace.bizId, undefined)).events.map(({ type }) => type)
}

/**
 * Makes a transfer, and reads the operators' feed until its event: events that committed before have lower positions, in
 * every feed. Returns the types in front of it.
 */
async function settle(world: World, workspaceId: string, after?: Cursors) {
  const { gateway, owner } = world
  const { workspace, mainUsd, savingsUsd } = developmentIds
  const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '0.01', currency: 'USD' }
  const headers = { ...bearerOf(owner), 'x-workspace-id': workspace }
  const made = await gateway.call('POST', '/web/v1/consumer/transfer/command/create', { headers, body })
  const { data: order } = made.body as { data: { bizId: string } }
  const types: string[] = []
  let operators = after?.operators
  for (let isSettled = false; !isSettled; ) {
    const page = await readPage(world, null, operators)
    operators = page.nextCursor
    const end = page.events.findIndex(({ subject }) => subject === order.bizId)
    isSettled = end >= 0
    types.push(...page.events.slice(0, isSettled ? end : undefined).map(({ type }) => type))
  }
  let inWorkspace = after?.workspace
  // Without a cursor from before, the members could not read the feed: their workspace was frozen.
  for (let hasMore = !after || after.workspace !== undefined; hasMore; ) {
    const page = await readPage(world, workspaceId, inWorkspace)
    inWorkspace = page.nextCursor
    hasMore = page.hasMore
    types.push(...page.events.map(({ type }) => type))
  }
  return { operators, workspace: inWorkspace, types }
}

/** A page of the operators' feed, or of the owner's in a workspace. */
async function readPage({ gateway, owner, operator }: World, workspaceId: string | null, after: string | undefined) {
  const [path, headers] =
    workspaceId === null
      ? ['/web/v1/system/events', bearerOf(operator)]
      : ['/web/v1/consumer/events', { ...bearerOf(owner), 'x-workspace-id': workspaceId }]
  const query = after === undefined ? '' : `?after=${after}`
  const { status, text, body } = await gateway.call('GET', path + query, { headers })
  // Members cannot read the feed while their workspace is frozen.
  if (workspaceId !== null && status === 403) return { events: [], nextCursor: after, hasMore: false }
  expect(status, text).toBe(200)
  return (body as Feed).data
}

function bearerOf({ accessToken, clientHash }: World['owner']): Record<string, string> {
  return { authorization: `Bearer ${accessToken}`, 'x-client-hash': clientHash }
}
