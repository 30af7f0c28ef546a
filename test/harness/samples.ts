import { randomUUID } from 'node:crypto'
import { createApiKey, disableApiKey } from '../../src/banking/api-keys/contract.ts'
import { createExchange, quoteExchange } from '../../src/banking/exchanges/contract.ts'
import { createExport } from '../../src/banking/exports/contract.ts'
import { createInvitation } from '../../src/banking/invitations/contract.ts'
import { confirmRecharge, createRecharge, submitRechargeProof } from '../../src/banking/recharges/contract.ts'
import { createRole } from '../../src/banking/roles/contract.ts'
import { createTransfer } from '../../src/banking/transfers/contract.ts'
import { listWallets } from '../../src/banking/wallets/contract.ts'
import { createWithdrawalChannel, verifyWithdrawalChannel } from '../../src/banking/withdrawal-channels/contract.ts'
import { approveWithdrawal, createWithdrawal } from '../../src/banking/withdrawals/contract.ts'
import { createWorkspace } from '../../src/banking/workspaces/contract.ts'
import { developmentPassword } from '../../src/seed/development.ts'
import type { Place, Sample, Samples } from '../../src/testing/index.ts'
import { confirmation } from './confirmation.ts'
import { goodPassword, otherPassword } from './identity.ts'
import { encodeMultipart, pdf } from './multipart.ts'
import { payoutAccount } from './payout-account.ts'
import { webhookSamples } from './webhook-samples.ts'

async function joinAs(place: Place, roleBizId: string): Promise<string> {
  return (await join(place, roleBizId)).accountBizId
}

/** Another owner creates or changes the entity and suspends it by a password change. Returns the reply. */
async function suspend(place: Place, path: string, body: object): Promise<Record<string, unknown>> {
  const { text } = await place.call('GET', '/web/v1/consumer/roles')
  const roles: { bizId: string; roleType: { code: string } }[] = JSON.parse(text).data
  const owner = roles.find(({ roleType }) => roleType.code === 'OWNER')
  if (!owner) throw new Error('a workspace has the role OWNER')
  const { command } = await join(place, owner.bizId)
  const reply = await command(path, body)
  const change = { currentPassword: goodPassword, newPassword: otherPassword, suspendCredentials: true }
  await command('/auth/password/change', change)
  return reply
}

async function suspendedIn(place: Place, path: string, body: object): Promise<string> {
  return String((await suspend(place, path, body)).bizId)
}

const reason = { reason: 'no such payment' }
const amount = '10.00'
const usdToEur = { sourceCurrency: 'USD', targetCurrency: 'EUR', amount, fixedSide: 'SOURCE' }

async function upload({ call }: Place, purpose: 'DOCUMENT' | 'RECHARGE_PROOF'): Promise<string> {
  const form = encodeMultipart([
    { name: 'purpose', content: purpose },
    { name: 'file', content: pdf(), fileName: 'receipt.pdf', type: 'application/pdf' },
  ])
  const { text } = await call('POST', '/web/v1/consumer/files/upload', form)
  return JSON.parse(text).data.bizId
}

async function walletAcross(place: Place): Promise<string> {
  const body = { workspaceName: 'Across the street', workspaceKind: 'SANDBOX' }
  const { bizId } = await place.run(createWorkspace, { body })
  const { text } = await place.call('GET', '/web/v1/consumer/wallets', { headers: { 'x-workspace-id': bizId } })
  return JSON.parse(text).data[0].bizId
}

/** Returns the id of the new account, and a function for its commands. */
async function join(place: Place, roleBizId: string) {
  const { run } = place
  const email = `${randomUUID()}@people.test`
  const invitation = await run(createInvitation, { body: { email, roleBizId } })
  const { post, codeFrom, signIn } = visitor(place, '/web/v1/consumer', email)
  const { sessionId } = await post('/auth/register/initiate', { email, turnstileToken: '' })
  await post('/auth/register/verify-email', { sessionId, code: await codeFrom(/registration code is (\d{6})/) })
  const account = await post('/auth/register/complete', { sessionId, accountName: 'Nora Newcomer' })
  await post('/auth/password/init', { token: account.passwordInitToken, newPassword: goodPassword })
  const command = await signIn(goodPassword)
  await command('/profile/invitations/accept', { invitationBizId: invitation.bizId })
  return { accountBizId: String(account.accountBizId), command }
}

/** Somebody besides the accounts of the kit. `signIn` steps up, too, and returns a function for commands. */
function visitor({ call, mailTo }: Place, prefix: string, email: string) {
  const post = async (path: string, body: object, token = '') => {
    const headers = { authorization: `Bearer ${token}`, 'x-client-hash': email }
    const { status, text } = await call('POST', `${prefix}${path}`, { headers, body })
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
    return JSON.parse(text).data
  }
  const codeFrom = async (form: RegExp) => form.exec((await mailTo(email, form)).text)?.[1]
  const signIn = async (password: string) => {
    const { sessionId } = await post('/auth/login/initiate', { email, password })
    await post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
    const code = await codeFrom(/sign-in code is (\d{6})/)
    const { accessToken } = await post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code })
    const command = (path: string, body: object) => post(path, body, accessToken)
    await command('/security/step-up/send', { mfaMethod: 'EMAIL' })
    await command('/security/step-up', { mfaMethod: 'EMAIL', code: await codeFrom(/confirmation code is (\d{6})/) })
    return command
  }
  return { post, codeFrom, signIn }
}

async function idOf(created: Promise<{ bizId: string }>): Promise<string> {
  return (await created).bizId
}
async function walletIn({ run }: Place): Promise<string> {
  const [wallet] = await run(listWallets)
  if (!wallet) throw new Error('a sandbox has wallets')
  return wallet.bizId
}
function createRoleIn({ run }: Place, permissionCodes: string[] = []) {
  return idOf(run(createRole, { body: { roleName: randomUUID().slice(0, 30), permissionCodes } }))
}
function createKeyIn({ run }: Place) {
  return idOf(run(createApiKey, { body: { apiKeyName: randomUUID().slice(0, 30), permissionCodes: ['wallet:read'] } }))
}
async function quoteIn({ run }: Place) {
  return (await run(quoteExchange, { body: usdToEur })).quoteBizId
}

async function newTransfer(place: Place) {
  return {
    sourceWalletBizId: await walletIn(place),
    targetWalletBizId: await walletAcross(place),
    amount: '1.00',
    currency: 'USD',
  }
}
async function newRecharge(place: Place) {
  return { walletBizId: await walletIn(place), channelCode: 'BANK_USD', amount }
}
async function newWithdrawal(place: Place) {
  const withdrawalChannelBizId = await idOf(place.run(createWithdrawalChannel, { body: payoutAccount() }))
  await place.run(verifyWithdrawalChannel, { params: { withdrawal_channel_id: withdrawalChannelBizId } })
  return { walletBizId: await walletIn(place), withdrawalChannelBizId, amount: '20.00' }
}

function inPath(name: string, create: (place: Place) => Promise<string>, input: Sample = {}) {
  const sample = async (place: Place): Promise<Sample> => ({ ...input, params: { [name]: await create(place) } })
  return sample
}
function ofRecharge(input?: Sample) {
  return inPath(
    'recharge_id',
    async (place) => idOf(place.run(createRecharge, { body: await newRecharge(place) })),
    input,
  )
}
function ofProvedRecharge(input?: Sample) {
  return inPath(
    'recharge_id',
    async (place) => {
      const id = await idOf(place.run(createRecharge, { body: await newRecharge(place) }))
      const body = { fileBizId: await upload(place, 'RECHARGE_PROOF') }
      return idOf(place.run(submitRechargeProof, { params: { recharge_id: id }, body }))
    },
    input,
  )
}
function ofOrder(input?: Sample) {
  return inPath('order_id', async (place) => idOf(place.run(createTransfer, { body: await newTransfer(place) })), input)
}
function ofWithdrawal(input?: Sample) {
  return inPath(
    'withdrawal_id',
    async (place) => idOf(place.run(createWithdrawal, { body: await newWithdrawal(place) })),
    input,
  )
}
function ofApproved(input?: Sample) {
  return inPath(
    'withdrawal_id',
    async (place) => {
      const id = await idOf(place.run(createWithdrawal, { body: await newWithdrawal(place) }))
      return idOf(place.run(approveWithdrawal, { params: { withdrawal_id: id } }))
    },
    input,
  )
}
/** Completed by another operator than the one who may return it. */
function ofCompleted(input: Sample) {
  return async (place: Place): Promise<Sample> => {
    const approved = await ofApproved()(place)
    const checker = await visitor(place, '/web/v1/system', 'checker@demo.test').signIn(developmentPassword)
    await checker(`/withdrawals/${approved.params?.withdrawal_id}/complete`, { externalReference: 'payout 2' })
    return { ...approved, ...input }
  }
}
/** Another recharge has used the reference. */
async function ofUsedReference(place: Place): Promise<Sample> {
  const body = confirmation()
  const confirmed = await ofProvedRecharge({ body })(place)
  await place.run(confirmRecharge, confirmed)
  const other = { ...(await newRecharge(place)), amount: '21.00' }
  const recharge_id = await idOf(place.run(createRecharge, { body: other }))
  return { params: { recharge_id }, body: { ...body, ...reason } }
}
const ofRole = inPath('role_id', createRoleIn)
const ofWallet = inPath('wallet_id', walletIn)
const ofFile = inPath('file_id', (place) => upload(place, 'DOCUMENT'))
const ofExport = inPath('export_id', ({ run }) =>
  idOf(run(createExport, { body: { exportType: 'FLOWS', format: 'CSV' } })),
)

/** Only for input that contains ids or cannot be derived from the schema. */
export const bankingSamples: Samples = {
  ...webhookSamples,
  'apiKeys.create': () => ({ body: { apiKeyName: randomUUID().slice(0, 30), permissionCodes: ['wallet:read'] } }),
  'apiKeys.delete': async (place) => ({ body: { apiKeyBizId: await createKeyIn(place) } }),
  'apiKeys.disable': async (place) => ({ body: { apiKeyBizId: await createKeyIn(place) } }),
  'apiKeys.enable': async (place) => {
    const apiKeyBizId = await createKeyIn(place)
    await place.run(disableApiKey, { body: { apiKeyBizId } })
    return { body: { apiKeyBizId } }
  },
  'apiKeys.read': inPath('api_key_id', createKeyIn),
  'exchanges.create': async (place) => ({ body: { quoteBizId: await quoteIn(place) } }),
  'exchanges.quote': () => ({ body: usdToEur }),
  'exchanges.confirmRate': () => ({ body: { sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '0.9' } }),
  'exchanges.setRate': () => ({ body: { sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '0.9' } }),
  'exchanges.unsetRate': () => ({ body: { sourceCurrency: 'USD', targetCurrency: 'EUR' } }),
  'exchanges.read': inPath('exchange_id', async (place) =>
    idOf(place.run(createExchange, { body: { quoteBizId: await quoteIn(place) } })),
  ),
  'exchanges.readQuote': inPath('quote_id', quoteIn),
  'exports.create': () => ({ body: { exportType: 'FLOWS', format: 'CSV' } }),
  'exports.download': ofExport,
  'exports.link': ofExport,
  'exports.read': ofExport,
  'files.delete': ofFile,
  'files.download': ofFile,
  'files.link': ofFile,
  'files.read': ofFile,
  'invitations.cancel': async (place) => {
    const body = { email: `${randomUUID()}@people.test`, roleBizId: await createRoleIn(place) }
    return { body: { invitationBizId: await idOf(place.run(createInvitation, { body })) } }
  },
  'invitations.confirm': async (place) => {
    const body = { email: `${randomUUID()}@people.test`, roleBizId: await createRoleIn(place) }
    return { body: { invitationBizId: await suspendedIn(place, '/invitations', body) } }
  },
  'invitations.create': async (place) => ({
    body: { roleBizId: await createRoleIn(place), email: `${randomUUID()}@people.test` },
  }),
  'recharges.allowReference': ofUsedReference,
  'recharges.cancel': ofRecharge({ body: { cancelReason: 'never mind' } }),
  'recharges.confirm': (place) => ofProvedRecharge({ body: confirmation() })(place),
  'recharges.create': async (place) => ({ body: await newRecharge(place) }),
  'recharges.proof': async (place) => ofRecharge({ body: { fileBizId: await upload(place, 'RECHARGE_PROOF') } })(place),
  'recharges.quote': async (place) => ({ body: await newRecharge(place) }),
  'recharges.read': ofRecharge(),
  'recharges.reject': ofProvedRecharge({ body: reason }),
  'roles.changeMember': async (place) => {
    const roleBizId = await createRoleIn(place)
    return { body: { userBizId: await joinAs(place, roleBizId), roleBizId } }
  },
  'roles.delete': async (place) => ({ body: { roleBizId: await createRoleIn(place) } }),
  'roles.listPermissions': ofRole,
  'roles.read': ofRole,
  'roles.restore': async (place) => {
    const role = { roleName: randomUUID().slice(0, 30), permissionCodes: ['wallet:read'] }
    return { body: { roleBizId: await suspendedIn(place, '/roles', role) } }
  },
  'roles.removeMember': async (place) => ({ body: { userBizId: await joinAs(place, await createRoleIn(place)) } }),
  'roles.restoreMember': async (place) => {
    const userBizId = await joinAs(place, await createRoleIn(place))
    const roleBizId = await createRoleIn(place, ['wallet:read'])
    await suspend(place, '/roles/members/role/change', { userBizId, roleBizId })
    return { body: { userBizId } }
  },
  'roles.setPermissions': async (place) => ({ body: { roleBizId: await createRoleIn(place), permissionCodes: [] } }),
  'roles.update': async (place) => ({ body: { roleBizId: await createRoleIn(place), description: 'theirs' } }),
  'transfers.approve': ofOrder(),
  'transfers.cancel': ofOrder(),
  'transfers.completed': ofOrder(),
  'transfers.create': async (place) => ({ body: await newTransfer(place), crossWorkspace: ['targetWalletBizId'] }),
  // Without a query, the reply is an error of `compatibility.observedErrors`.
  'transfers.list': () => ({ query: { pageSize: '20' } }),
  'transfers.listOfWallet': ofWallet,
  'transfers.read': ofOrder(),
  'transfers.reject': ofOrder({ body: reason }),
  'wallets.balance': ofWallet,
  'wallets.flows': ofWallet,
  'wallets.read': ofWallet,
  'withdrawalChannels.create': () => ({ body: payoutAccount() }),
  'withdrawalChannels.reactivate': inPath('withdrawal_channel_id', (place) =>
    suspendedIn(place, '/withdrawal-channels', payoutAccount()),
  ),
  'profile.update': () => ({ body: { accountName: 'Another name' } }),
  'withdrawals.approve': ofWithdrawal(),
  'withdrawals.cancel': ofWithdrawal(),
  'withdrawals.complete': ofApproved({ body: { externalReference: 'payout 1' } }),
  'withdrawals.create': async (place) => ({ body: await newWithdrawal(place) }),
  'withdrawals.fail': ofApproved({ body: reason }),
  'withdrawals.read': ofWithdrawal(),
  'withdrawals.reject': ofWithdrawal({ body: reason }),
  'withdrawals.return': ofCompleted({ body: reason }),
}

export const openToReaders = [
  ...['workspaces.leave', 'workspaces.setDefault'],
  // They only open what a reader can read.
  ...['browserSessions.ticket', 'exports.link', 'files.link'],
]
