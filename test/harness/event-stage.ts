import { randomUUID } from 'node:crypto'
import { createApiKey, createOperatorApiKey } from '../../src/banking/api-keys/contract.ts'
import { createInvitation } from '../../src/banking/invitations/contract.ts'
import { suspendAccount } from '../../src/banking/operators/contract.ts'
import { createRole, listRoles } from '../../src/banking/roles/contract.ts'
import { freezeWallet, listWallets } from '../../src/banking/wallets/contract.ts'
import { createWithdrawalChannel } from '../../src/banking/withdrawal-channels/contract.ts'
import type { World } from '../../src/testing/suites/index.ts'
import type { Place, Sample } from '../../src/testing/world.ts'
import { fromOwnPage } from './browser.ts'
import { begin, type Client, client, data, newcomer, newEmail, signInOnly } from './identity.ts'
import { payoutAccount } from './payout-account.ts'
import type { Portico } from './portico.ts'
import { bankingSamples } from './samples.ts'
import { codeIn, signIn } from './sign-in.ts'

/** `headers` are those of somebody else than the owner or the operator. */
export type Given = Sample & { headers?: Record<string, string> }
export interface Stage {
  place: Place
  world: World
  portico: Portico
}
export type Input = (stage: Stage) => Promise<Given>

export const reason = 'for the test'
export const orderReason = { body: { reason } }

export const headersOf = ({ hash, ip }: Client, token?: string) => ({
  'x-client-hash': hash,
  'cf-connecting-ip': ip,
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
})

/** Somebody else with a session, and another session if `sessions` is 2. */
export async function person({ portico }: Stage, sessions = 1) {
  const { by, token, email, accountId } = await newcomer(portico)
  const other = sessions > 1 ? await signInOnly(portico, client(portico), email) : undefined
  return { by, token, email, accountId, otherSession: other?.sessionId, headers: headersOf(by, token) }
}

async function ownerRole({ run }: Place): Promise<string> {
  const owner = (await run(listRoles)).find(({ roleType }) => roleType.code === 'OWNER')
  if (!owner) throw new Error('a workspace has the role OWNER')
  return owner.bizId
}

export const roleIn = async ({ run }: Place, permissionCodes: string[] = []) =>
  (await run(createRole, { body: { roleName: `Role ${permissionCodes.length}`, permissionCodes } })).bizId

/** A new member of the place. `call` sends commands in it. */
export async function member(stage: Stage, roleBizId: string, sessions?: number) {
  const found = await person(stage, sessions)
  const { by, token, email } = found
  const within = { 'x-workspace-id': stage.place.workspaceId }
  const { bizId: invitationBizId } = await stage.place.run(createInvitation, { body: { email, roleBizId } })
  data(await by.post('/profile/invitations/accept', { invitationBizId }, token))
  return {
    ...found,
    headers: { ...found.headers, ...within },
    call: async (path: string, body: object) => data(await by.post(path, body, token, within)),
  }
}

/** An owner who has made what a recovery suspends, in the place. */
export async function founder(stage: Stage) {
  const { place } = stage
  const [owners, roleBizId] = [await ownerRole(place), await roleIn(place)]
  const owner = await member(stage, owners, 2)
  const brought = await member(stage, roleBizId)
  const { bizId } = await owner.call('/roles', { roleName: 'Theirs', permissionCodes: ['wallet:read'] })
  await owner.call('/roles/members/role/change', { userBizId: brought.accountId, roleBizId: bizId })
  await owner.call('/withdrawal-channels', payoutAccount())
  await withOffers(owner, roleBizId)
  return owner
}

/** A member with an API key and a pending invitation. */
async function withOffers(owner: Awaited<ReturnType<typeof member>>, roleBizId: string) {
  await owner.call('/api-keys', { apiKeyName: 'Theirs', permissionCodes: ['wallet:read'] })
  await owner.call('/invitations', { email: newEmail(), roleBizId })
  return owner
}
export async function leaver(stage: Stage) {
  const roleBizId = await roleIn(stage.place)
  return withOffers(await member(stage, await ownerRole(stage.place)), roleBizId)
}

/** A pending sign-in of an account that may have only one session, and has one. */
export const pendingSignIn: Input = async (stage) => {
  const { by, token, email } = await person(stage)
  data(await by.post('/security/sessions/config', { maxConcurrentSessions: 1 }, token))
  const next = client(stage.portico)
  const { sessionId, code } = await begin(stage.portico, next, email)
  return { body: { sessionId, mfaMethod: 'EMAIL', code }, headers: { ...headersOf(next), ...fromOwnPage } }
}

export const registration = async ({ portico }: Stage) => {
  const [by, email] = [client(portico), newEmail()]
  const { sessionId } = data(await by.post('/auth/register/initiate', { email, turnstileToken: '' }))
  const code = codeIn((await portico.mailTo(email, 'registration-code')).text)
  return { by, email, sessionId, code, headers: headersOf(by) }
}

/** A workspace whose only owner is suspended, and somebody for it. */
export async function orphaned(stage: Stage) {
  const { place } = stage
  const owner = await person(stage)
  const { bizId } = data(await owner.by.get('/workspaces/current', owner.token))
  await place.run(suspendAccount, { params: { account_id: owner.accountId }, ...orderReason })
  const { accountId } = await person(stage)
  return { params: { workspace_id: String(bizId) }, body: { userBizId: accountId, reason } }
}

export async function checkerHeaders(portico: Portico) {
  const { accessToken } = await signIn(portico, 'checker@demo.test')
  return { authorization: `Bearer ${accessToken}`, 'x-client-hash': 'test-client-hash' }
}

export async function checkerId({ portico, world }: Stage) {
  const headers = { 'x-client-hash': world.operator.clientHash }
  const { accessToken: token } = world.operator
  const { body } = await portico.call('GET', '/web/v1/system/operators?pageSize=100', { headers, token })
  const checker = body.data.items.find(
    ({ accountEmail }: { accountEmail: string }) => accountEmail === 'checker@demo.test',
  )
  return { account_id: String(checker.bizId), permissionCodes: checker.permissionCodes as string[] }
}

export const keyIn = async ({ run }: Place) =>
  (await run(createApiKey, { body: { apiKeyName: 'Key', permissionCodes: ['wallet:read'] } })).bizId
export const operatorKey = () => ({
  apiKeyName: randomUUID().slice(0, 30),
  permissionCodes: ['audit:read' as const],
  expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
})
export const operatorKeyIn = async ({ run }: Place) => ({
  params: { api_key_id: (await run(createOperatorApiKey, { body: operatorKey() })).bizId },
  ...orderReason,
})
export const channelIn = async ({ run }: Place) => ({
  withdrawal_channel_id: (await run(createWithdrawalChannel, { body: payoutAccount() })).bizId,
})
export const walletIn = async ({ run }: Place) => ({ wallet_id: String((await run(listWallets))[0]?.bizId) })
export const frozenIn = async (place: Place) => {
  const params = await walletIn(place)
  await place.run(freezeWallet, { params, ...orderReason })
  return params
}
export const invited = async (stage: Stage) => {
  const { email, headers } = await person(stage)
  const body = { email, roleBizId: await roleIn(stage.place) }
  const { bizId } = await stage.place.run(createInvitation, { body })
  return { headers, body: { invitationBizId: bizId } }
}
export const sampleOf = async (id: string, place: Place): Promise<Sample> => (await bankingSamples[id]?.(place)) ?? {}
