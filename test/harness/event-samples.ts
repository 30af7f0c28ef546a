import { disableAnyApiKey } from '../../src/banking/api-keys/contract.ts'
import { suspendAccount } from '../../src/banking/operators/contract.ts'
import { proposeOwner } from '../../src/banking/proposals/contract.ts'
import { closeWallet, listWallets } from '../../src/banking/wallets/contract.ts'
import { disableAnyWebhook } from '../../src/banking/webhooks/contract.ts'
import { verifyWithdrawalChannel } from '../../src/banking/withdrawal-channels/contract.ts'
import { freezeWorkspace } from '../../src/banking/workspaces/contract.ts'
import {
  channelIn,
  checkerHeaders,
  checkerId,
  founder,
  frozenIn,
  headersOf,
  type Input,
  invited,
  keyIn,
  leaver,
  member,
  operatorKey,
  operatorKeyIn,
  orderReason,
  orphaned,
  pendingSignIn,
  person,
  reason,
  registration,
  roleIn,
  sampleOf,
  walletIn,
} from './event-stage.ts'
import {
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
import { passkeyInputs } from './passkey-samples.ts'
import { bankingSamples } from './samples.ts'
import { codeIn } from './sign-in.ts'

/** Commands that need more than the sample of the suites. Several inputs show several outcomes. */
export const eventInputs: Readonly<Record<string, readonly Input[]>> = {
  ...passkeyInputs,
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
  'apiKeys.createForOperators': [async () => ({ body: operatorKey() })],
  'apiKeys.enableOfOperators': [
    async ({ place, portico }) => ({ ...(await operatorKeyIn(place)), headers: await checkerHeaders(portico) }),
  ],
  'apiKeys.disableOfOperators': [
    async ({ place, portico }) => {
      const given = await operatorKeyIn(place)
      const path = `/web/v1/system/operator-api-keys/${given.params.api_key_id}/enable`
      data(await portico.call('POST', path, { headers: await checkerHeaders(portico), body: { reason } }))
      return given
    },
  ],
  'apiKeys.deleteOfOperators': [({ place }) => operatorKeyIn(place)],
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
