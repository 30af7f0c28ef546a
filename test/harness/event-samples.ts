import { createApiKey, disableAnyApiKey } from '../../src/banking/api-keys/contract.ts'
import { createInvitation } from '../../src/banking/invitations/contract.ts'
import { suspendAccount } from '../../src/banking/operators/contract.ts'
import { proposeOwner } from '../../src/banking/proposals/contract.ts'
import { createRole, listRoles } from '../../src/banking/roles/contract.ts'
import { closeWallet, freezeWallet, listWallets } from '../../src/banking/wallets/contract.ts'
import { disableAnyWebhook } from '../../src/banking/webhooks/contract.ts'
import { createWithdrawalChannel, verifyWithdrawalChannel } from '../../src/banking/withdrawal-channels/contract.ts'
import { freezeWorkspace } from '../../src/banking/workspaces/contract.ts'
import type { World } from '../../src/testing/suites/index.ts'
import type { Place, Sample } from '../../src/testing/world.ts'
import { fromOwnPage } from './browser.ts'
import {
  begin,
  type Client,
  client,
  data,
  goodPassword,
  linkToken,
  newcomer,
  newEmail,
  otherPassword,
  register,
  signInOnly,
} from './identity.ts'
import { otpOf } from './otp.ts'
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
type Input = (stage: Stage) => Promise<Given>

const reason = 'for the test'
const orderReason = { body: { reason } }

const headersOf = ({ hash, ip }: Client, token?: string) => ({
  'x-client-hash': hash,
  'cf-connecting-ip': ip,
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
})

/** Somebody else with a session, and another session if `sessions` is 2. */
async function person({ portico }: Stage, sessions = 1) {
  const { by, token, email, accountId } = await newcomer(portico)
  const other = sessions > 1 ? await signInOnly(portico, client(portico), email) : undefined
  return { by, token, email, accountId, otherSession: other?.sessionId, headers: headersOf(by, token) }
}

async function ownerRole({ run }: Place): Promise<string> {
  const owner = (await run(listRoles)).find(({ roleType }) => roleType.code === 'OWNER')
  if (!owner) throw new Error('a workspace has the role OWNER')
  return owner.bizId
}

const roleIn = async ({ run }: Place, permissionCodes: string[] = []) =>
  (await run(createRole, { body: { roleName: `Role ${permissionCodes.length}`, permissionCodes } })).bizId

/** A new member of the place. `call` sends commands in it. */
async function member(stage: Stage, roleBizId: string, sessions?: number) {
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
async function founder(stage: Stage) {
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
async function leaver(stage: Stage) {
  const roleBizId = await roleIn(stage.place)
  return withOffers(await member(stage, await ownerRole(stage.place)), roleBizId)
}

/** A pending sign-in of an account that may have only one session, and has one. */
const pendingSignIn: Input = async (stage) => {
  const { by, token, email } = await person(stage)
  data(await by.post('/security/sessions/config', { maxConcurrentSessions: 1 }, token))
  const next = client(stage.portico)
  const { sessionId, code } = await begin(stage.portico, next, email)
  return { body: { sessionId, mfaMethod: 'EMAIL', code }, headers: { ...headersOf(next), ...fromOwnPage } }
}

const registration = async ({ portico }: Stage) => {
  const [by, email] = [client(portico), newEmail()]
  const { sessionId } = data(await by.post('/auth/register/initiate', { email, turnstileToken: '' }))
  const code = codeIn((await portico.mailTo(email, 'registration-code')).text)
  return { by, email, sessionId, code, headers: headersOf(by) }
}

/** A workspace whose only owner is suspended, and somebody for it. */
async function orphaned(stage: Stage) {
  const { place } = stage
  const owner = await person(stage)
  const { bizId } = data(await owner.by.get('/workspaces/current', owner.token))
  await place.run(suspendAccount, { params: { account_id: owner.accountId }, ...orderReason })
  const { accountId } = await person(stage)
  return { params: { workspace_id: String(bizId) }, body: { userBizId: accountId, reason } }
}

async function checkerHeaders(portico: Portico) {
  const { accessToken } = await signIn(portico, 'checker@demo.test')
  return { authorization: `Bearer ${accessToken}`, 'x-client-hash': 'test-client-hash' }
}

async function checkerId({ portico, world }: Stage) {
  const headers = { 'x-client-hash': world.operator.clientHash }
  const { accessToken: token } = world.operator
  const { body } = await portico.call('GET', '/web/v1/system/operators?pageSize=100', { headers, token })
  const checker = body.data.items.find(
    ({ accountEmail }: { accountEmail: string }) => accountEmail === 'checker@demo.test',
  )
  return { account_id: String(checker.bizId), permissionCodes: checker.permissionCodes as string[] }
}

const keyIn = async ({ run }: Place) =>
  (await run(createApiKey, { body: { apiKeyName: 'Key', permissionCodes: ['wallet:read'] } })).bizId
const channelIn = async ({ run }: Place) => ({
  withdrawal_channel_id: (await run(createWithdrawalChannel, { body: payoutAccount() })).bizId,
})
const walletIn = async ({ run }: Place) => ({ wallet_id: String((await run(listWallets))[0]?.bizId) })
const frozenIn = async (place: Place) => {
  const params = await walletIn(place)
  await place.run(freezeWallet, { params, ...orderReason })
  return params
}
const invited = async (stage: Stage) => {
  const { email, headers } = await person(stage)
  const body = { email, roleBizId: await roleIn(stage.place) }
  const { bizId } = await stage.place.run(createInvitation, { body })
  return { headers, body: { invitationBizId: bizId } }
}
const sampleOf = async (id: string, place: Place): Promise<Sample> => (await bankingSamples[id]?.(place)) ?? {}

/** Commands that need more than the sample of the suites. Several inputs show several outcomes. */
export const eventInputs: Readonly<Record<string, readonly Input[]>> = {
  'auth.loginInitiate': [
    async ({ portico }) => {
      const { email } = await register(portico)
      return { body: { email, password: goodPassword }, headers: headersOf(client(portico)) }
    },
  ],
  'auth.mfaSend': [
    async ({ portico }) => {
      const { email } = await register(portico)
      const by = client(portico)
      const { sessionId } = data(await by.post('/auth/login/initiate', { email, password: goodPassword }))
      return { body: { sessionId, mfaMethod: 'EMAIL' }, headers: headersOf(by) }
    },
  ],
  'auth.loginComplete': [pendingSignIn],
  'browserSessions.start': [pendingSignIn],
  'browserSessions.end': [
    async (stage) => {
      const { portico } = stage
      const { body, headers } = await pendingSignIn(stage)
      const call = { headers: headers ?? {}, body }
      const started = await portico.call('POST', '/web/v1/consumer/auth/browser-session', call)
      data(started)
      return { headers: { ...headers, cookie: String(started.headers.getSetCookie()[0]?.split(';', 1)[0]) } }
    },
  ],
  'auth.refresh': [
    async ({ portico }) => {
      const { by, session } = await newcomer(portico)
      return { body: { refreshToken: session.refreshToken }, headers: headersOf(by) }
    },
  ],
  'auth.logout': [person],
  'registration.initiate': [
    async ({ portico }) => ({ body: { email: newEmail(), turnstileToken: '' }, headers: headersOf(client(portico)) }),
  ],
  'registration.verifyEmail': [
    async (stage) => {
      const { sessionId, code, headers } = await registration(stage)
      return { body: { sessionId, code }, headers }
    },
  ],
  'registration.complete': [
    async (stage) => {
      const { by, sessionId, code, headers } = await registration(stage)
      data(await by.post('/auth/register/verify-email', { sessionId, code }))
      return { body: { sessionId, accountName: 'Nora Newcomer' }, headers }
    },
  ],
  'sessions.configure': [async (stage) => ({ ...(await person(stage, 2)), body: { maxConcurrentSessions: 1 } })],
  'sessions.terminate': [
    async (stage) => {
      const { headers, otherSession } = await person(stage, 2)
      return { headers, body: { sessionId: otherSession } }
    },
  ],
  'sessions.terminateAll': [(stage) => person(stage, 2)],
  'mfa.stepUpSend': [
    async ({ portico }) => {
      const by = client(portico)
      const { token } = await newcomer(portico, by, signInOnly)
      return { body: { mfaMethod: 'EMAIL' }, headers: headersOf(by, token) }
    },
  ],
  'mfa.stepUp': [
    async ({ portico }) => {
      const by = client(portico)
      const { token, email } = await newcomer(portico, by, signInOnly)
      data(await by.post('/security/step-up/send', { mfaMethod: 'EMAIL' }, token))
      const code = codeIn((await portico.mailTo(email, 'step-up-code')).text)
      return { body: { mfaMethod: 'EMAIL', code }, headers: headersOf(by, token) }
    },
  ],
  'mfa.otpVerify': [
    async (stage) => {
      const { by, token, headers } = await person(stage)
      const { secret } = data(await by.post('/security/mfa/otp/setup', undefined, token))
      return { body: { code: otpOf(secret) }, headers }
    },
  ],
  'mfa.otpRevoke': [
    async (stage) => {
      const { by, token, headers } = await person(stage)
      const { secret } = data(await by.post('/security/mfa/otp/setup', undefined, token))
      data(await by.post('/security/mfa/otp/verify', { code: otpOf(secret) }, token))
      return { body: { code: otpOf(secret, 1) }, headers }
    },
  ],
  'ipWhitelist.enable': [
    async (stage) => {
      const { by, token, headers } = await person(stage)
      data(await by.post('/security/ip-whitelist', { addresses: [by.ip] }, token))
      return { body: {}, headers }
    },
  ],
  'password.forgot': [
    async ({ portico }) => {
      const { email } = await register(portico)
      return { body: { email, turnstileToken: '' }, headers: headersOf(client(portico)) }
    },
  ],
  'password.init': [
    async (stage) => {
      const { by, sessionId, code, headers } = await registration(stage)
      data(await by.post('/auth/register/verify-email', { sessionId, code }))
      const { passwordInitToken } = data(
        await by.post('/auth/register/complete', { sessionId, accountName: 'Nora Newcomer' }),
      )
      return { body: { token: passwordInitToken, newPassword: goodPassword }, headers }
    },
  ],
  'password.change': [
    async (stage) => {
      const { headers } = await founder(stage)
      const body = { currentPassword: goodPassword, newPassword: otherPassword, suspendCredentials: true }
      return { headers, body }
    },
  ],
  'password.reset': [
    async (stage) => {
      const { by, email } = await founder(stage)
      data(await by.post('/auth/password/forgot', { email, turnstileToken: '' }))
      const token = linkToken((await stage.portico.mailTo(email, 'password-reset')).text)
      return { body: { token, newPassword: otherPassword }, headers: headersOf(by) }
    },
  ],
  'password.undoFactors': [
    async (stage) => {
      const { by, email, call } = await founder(stage)
      await call('/security/mfa/backup-codes/generate', {})
      const token = linkToken((await stage.portico.mailTo(email, 'factor-added')).text)
      return { body: { token }, headers: headersOf(by) }
    },
  ],
  'operators.terminateAccountSessions': [
    async (stage) => ({ params: { account_id: (await founder(stage)).accountId } }),
  ],
  'operators.suspendAccount': [
    async (stage) => ({ params: { account_id: (await leaver(stage)).accountId }, ...orderReason }),
  ],
  'operators.reactivateAccount': [
    async (stage) => {
      const params = { account_id: (await person(stage)).accountId }
      await stage.place.run(suspendAccount, { params, ...orderReason })
      return { params }
    },
  ],
  'proposals.proposeOwner': [orphaned],
  'proposals.proposePermissions': [
    async (stage) => {
      const { account_id, permissionCodes } = await checkerId(stage)
      return { params: { account_id }, body: { permissionCodes: permissionCodes.slice(1), reason } }
    },
  ],
  'proposals.revokePermissions': [
    async (stage) => {
      const { account_id, permissionCodes } = await checkerId(stage)
      return { params: { account_id }, body: { permissionCodes: permissionCodes.slice(-1), reason } }
    },
  ],
  'proposals.resetFactor': [
    async (stage) => {
      const { by, token, accountId } = await person(stage)
      data(await by.post('/security/mfa/backup-codes/generate', undefined, token))
      return { params: { account_id: accountId }, ...orderReason }
    },
  ],
  'proposals.reject': [
    async (stage) => {
      const { bizId } = await stage.place.run(proposeOwner, await orphaned(stage))
      return { params: { proposal_id: bizId }, ...orderReason }
    },
  ],
  'proposals.confirm': [
    async (stage) => {
      const { bizId } = await stage.place.run(proposeOwner, await orphaned(stage))
      return { params: { proposal_id: bizId }, headers: await checkerHeaders(stage.portico) }
    },
  ],
  'wallets.close': [async ({ world }) => ({ params: await frozenIn(await world.openPlace('LIVE')), ...orderReason })],
  'wallets.create': [
    async ({ world }) => {
      const place = await world.openPlace('LIVE')
      const [wallet] = await place.run(listWallets)
      await place.run(closeWallet, { params: await frozenIn(place), ...orderReason })
      const headers = { authorization: `Bearer ${world.owner.accessToken}`, 'x-client-hash': world.owner.clientHash }
      const body = { walletName: 'Again', currency: wallet?.currency }
      return { body, headers: { ...headers, 'x-workspace-id': place.workspaceId } }
    },
  ],
  'wallets.freeze': [async ({ place }) => ({ params: await walletIn(place), ...orderReason })],
  'wallets.unfreeze': [
    async ({ place }) => {
      return { params: await frozenIn(place), ...orderReason }
    },
  ],
  'operators.freezeWorkspace': [async ({ place }) => ({ params: { workspace_id: place.workspaceId }, ...orderReason })],
  'operators.unfreezeWorkspace': [
    async ({ place }) => {
      const input = { params: { workspace_id: place.workspaceId }, ...orderReason }
      await place.run(freezeWorkspace, input)
      return input
    },
  ],
  'workspaces.leave': [leaver],
  'workspaces.limitMember': [
    async (stage) => {
      const { accountId: userBizId } = await leaver(stage)
      const params = { workspace_id: stage.place.workspaceId }
      return { params, body: { userBizId, policyConfig: { readOnly: true }, reason } }
    },
  ],
  'roles.changeMember': [
    async (stage) => {
      const { accountId: userBizId } = await leaver(stage)
      return { body: { userBizId, roleBizId: await roleIn(stage.place, ['wallet:read']) } }
    },
  ],
  'roles.removeMember': [async (stage) => ({ body: { userBizId: (await leaver(stage)).accountId } })],
  'roles.setPermissions': [
    async (stage) => {
      const [roleBizId, offered] = [await roleIn(stage.place, ['invitation:manage']), await roleIn(stage.place)]
      const { call } = await member(stage, roleBizId)
      await call('/invitations', { email: newEmail(), roleBizId: offered })
      return { body: { roleBizId, permissionCodes: [] } }
    },
  ],
  'invitations.accept': [invited],
  'invitations.decline': [
    async (stage) => {
      const { headers, body } = await invited(stage)
      return { headers, body: { ...body, reason } }
    },
  ],
  'withdrawalChannels.verify': [async ({ place }) => ({ params: await channelIn(place) })],
  'withdrawalChannels.reject': [
    async ({ place }) => ({ params: await channelIn(place), ...orderReason }),
    async ({ place }) => {
      const params = await channelIn(place)
      await place.run(verifyWithdrawalChannel, { params })
      return { params, ...orderReason }
    },
  ],
  'withdrawalChannels.reveal': [async ({ place }) => ({ params: await channelIn(place), ...orderReason })],
  'apiKeys.disableAny': [async ({ place }) => ({ params: { api_key_id: await keyIn(place) }, ...orderReason })],
  'apiKeys.deleteAny': [async ({ place }) => ({ params: { api_key_id: await keyIn(place) }, ...orderReason })],
  'apiKeys.enableAny': [
    async ({ place }) => {
      const params = { api_key_id: await keyIn(place) }
      await place.run(disableAnyApiKey, { params, ...orderReason })
      return { params, ...orderReason }
    },
  ],
  'webhooks.enableAny': [
    async ({ place }) => {
      const input = (await bankingSamples['webhooks.disableAny']?.(place)) ?? {}
      await place.run(disableAnyWebhook, input)
      return input
    },
  ],
  'transfers.create': [
    ({ place }) => sampleOf('transfers.create', place),
    // Below the approval threshold.
    async ({ place }) => {
      const sample = await sampleOf('transfers.create', place)
      return { ...sample, body: { ...sample.body, amount: '0.50' } }
    },
  ],
  'sandbox.reset': [
    async ({ place }) => {
      // Orders in each status that the reset ends.
      for (const id of ['transfers.cancel', 'recharges.cancel', 'withdrawals.cancel', 'withdrawals.fail'])
        await sampleOf(id, place)
      return {}
    },
  ],
}
