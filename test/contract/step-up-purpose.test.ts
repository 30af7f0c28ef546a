import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { catalogue } from '../../src/contract/index.ts'
import { member, own } from '../../src/contract/policies.ts'
import {
  auditedFields,
  canDemandStepUp,
  canonicalPurpose,
  confirmedSchemas,
  confirmsErrors,
  purposeErrors,
  purposeOf,
} from '../../src/contract/step-up-purpose.ts'
import { purposeByNames } from '../../src/documents/marks.ts'
import { confirmedFields, confirmedNames, type Operation } from '../../src/kernel/index.ts'

const demanding = catalogue.filter(canDemandStepUp)

describe('the fields that a step-up confirms', () => {
  it('contain every id, amount, currency, address and permission list of the input', () => {
    expect(demanding.length).toBeGreaterThan(40)
    expect(demanding.flatMap(confirmsErrors)).toEqual([])
    expect(demanding.map((operation) => Object.keys(confirmedSchemas(operation)))).toEqual(
      demanding.map(confirmedNames),
    )
  })

  it('contain no secret', () => {
    const secret = /password|secret|token|code$|pin/i
    expect(demanding.flatMap(confirmedNames).filter((name) => secret.test(name) && name !== 'bankCode')).toEqual([])
  })

  it('are the path parameters, or as declared', () => {
    const declared = demanding.filter(({ confirms }) => confirms).map(({ id, confirms }) => [id, confirms?.join(' ')])
    expect(Object.fromEntries(declared)).toEqual({
      'apiKeys.create': 'apiKeyName permissionCodes ipAllowlist expiresAt publicKey certificateThumbprint',
      'apiKeys.createForOperators':
        'apiKeyName permissionCodes ipAllowlist expiresAt publicKey certificateThumbprint providerId',
      'apiKeys.delete': 'apiKeyBizId',
      'apiKeys.disable': 'apiKeyBizId',
      'apiKeys.enable': 'apiKeyBizId',
      'exchanges.confirmRate': 'sourceCurrency targetCurrency rate',
      'exchanges.setRate': 'sourceCurrency targetCurrency rate',
      'exchanges.unsetRate': 'sourceCurrency targetCurrency',
      'invitations.confirm': 'invitationBizId',
      'invitations.create': 'email roleBizId',
      'ipWhitelist.replace': 'addresses',
      'passkeys.delete': 'passkeyBizId',
      'proposals.invite': 'accountPortal providerId email',
      'proposals.proposeOwner': 'workspace_id userBizId',
      'proposals.proposePermissions': 'account_id permissionCodes',
      'recharges.confirm': 'recharge_id receivedAmount',
      'proposals.revokePermissions': 'account_id permissionCodes',
      'roles.changeMember': 'userBizId roleBizId',
      'roles.create': 'roleName permissionCodes',
      'roles.delete': 'roleBizId',
      'roles.removeMember': 'userBizId',
      'roles.restore': 'roleBizId',
      'roles.restoreMember': 'userBizId',
      'roles.setPermissions': 'roleBizId permissionCodes',
      'roles.update': 'roleBizId roleName description',
      'transfers.create': 'sourceWalletBizId targetWalletBizId amount currency',
      'webhooks.create': 'url eventTypes',
      'webhooks.createPlatform': 'url eventTypes',
      'webhooks.delete': 'webhookBizId',
      'webhooks.deletePlatform': 'webhookBizId',
      'webhooks.disable': 'webhookBizId',
      'webhooks.disableAny': 'webhook_id',
      'webhooks.disablePlatform': 'webhookBizId',
      'webhooks.enable': 'webhookBizId',
      'webhooks.enableAny': 'webhook_id',
      'webhooks.enablePlatform': 'webhookBizId',
      'webhooks.replayPlatform': 'webhookBizId since',
      'webhooks.resendPlatform': 'deliveryBizId',
      'webhooks.rotatePlatformSecret': 'webhookBizId',
      'webhooks.rotateSecret': 'webhookBizId',
      'webhooks.testPlatform': 'webhookBizId',
      'webhooks.update': 'webhookBizId url eventTypes',
      'webhooks.updatePlatform': 'webhookBizId url eventTypes',
      'withdrawalChannels.create': 'channelType currency country accountHolderName accountNumber bankCode network',
      'withdrawals.create': 'walletBizId withdrawalChannelBizId amount',
      'workspaces.leave': '',
      'workspaces.limitMember': 'workspace_id userBizId policyConfig',
    })
  })
})

const gift: Operation = {
  id: 'gifts.send',
  method: 'POST',
  path: '/gifts/{gift_id}',
  chains: ['consumer'],
  summary: 'Send a gift',
  policy: { ...own, stepUp: true },
  confirms: ['gift_id', 'amount'],
  purpose: ({ gift_id: order, amount }) => ({ order, amount }),
  query: z.strictObject({ tag: z.string() }),
  body: z.strictObject({ amount: z.string(), note: z.string(), tag: z.string().optional() }).optional(),
  reply: z.null(),
  refuses: [],
}

describe('the purpose of an operation', () => {
  it('differs by the amount that an operator received', () => {
    const confirm = demanding.find(({ id }) => id === 'recharges.confirm')
    if (!confirm) throw new Error('no such operation')
    const purposes = [{}, { receivedAmount: '90.00' }, { receivedAmount: '900.00' }].map((body) =>
      canonicalPurpose(confirm, null, confirmedFields(confirm, { recharge_id: 'x' }, body)),
    )
    expect(new Set(purposes).size).toBe(3)
  })

  it('names amounts, roles and payees, and nothing of other fields', () => {
    const shown = demanding.flatMap((operation) => {
      const texts = Object.fromEntries(confirmedNames(operation).map((name) => [name, name]))
      const { payee, ...purpose } = purposeOf(operation, { ...texts, list: ['not a text'] })
      const parts = [
        ...Object.entries(purpose),
        ...Object.entries(payee ?? {}).map(([kind, name]) => [`to ${kind}`, name]),
      ]
      return parts.length === 0 ? [] : [[operation.id, parts.map((part) => part.join(' ')).join(', ')]]
    })
    expect(Object.fromEntries(shown)).toEqual({
      'invitations.create': 'role roleBizId, to email email',
      'operators.approveAccount': 'to account account_id',
      'operators.reactivateAccount': 'to account account_id',
      'operators.rejectAccount': 'to account account_id',
      'operators.suspendAccount': 'to account account_id',
      'operators.terminateAccountSessions': 'to account account_id',
      'proposals.invite': 'to email email',
      'proposals.proposeOwner': 'to account userBizId',
      'proposals.proposePermissions': 'to account account_id',
      'proposals.resetFactor': 'to account account_id',
      'proposals.revokePermissions': 'to account account_id',
      'recharges.allowReference': 'order recharge_id',
      'recharges.confirm': 'order recharge_id, amount receivedAmount',
      'recharges.reject': 'order recharge_id',
      'roles.changeMember': 'role roleBizId, to account userBizId',
      'roles.delete': 'role roleBizId',
      'roles.removeMember': 'to account userBizId',
      'roles.restore': 'role roleBizId',
      'roles.restoreMember': 'to account userBizId',
      'roles.setPermissions': 'role roleBizId',
      'roles.update': 'role roleBizId',
      'transfers.approve': 'order order_id',
      'transfers.create': 'wallet sourceWalletBizId, amount amount, currency currency, to wallet targetWalletBizId',
      'transfers.reject': 'order order_id',
      'wallets.close': 'wallet wallet_id',
      'wallets.freeze': 'wallet wallet_id',
      'wallets.unfreeze': 'wallet wallet_id',
      'withdrawalChannels.reactivate': 'to withdrawalChannel withdrawal_channel_id',
      'withdrawalChannels.reject': 'to withdrawalChannel withdrawal_channel_id',
      'withdrawalChannels.reveal': 'to withdrawalChannel withdrawal_channel_id',
      'withdrawalChannels.verify': 'to withdrawalChannel withdrawal_channel_id',
      'withdrawals.approve': 'order withdrawal_id',
      'withdrawals.complete': 'order withdrawal_id',
      'withdrawals.create': 'wallet walletBizId, amount amount, to withdrawalChannel withdrawalChannelBizId',
      'withdrawals.fail': 'order withdrawal_id',
      'withdrawals.reject': 'order withdrawal_id',
      'withdrawals.return': 'order withdrawal_id',
      'workspaces.limitMember': 'to account userBizId',
    })
  })

  it('agrees with the names of the fields, by which an operation of a document is shown', () => {
    for (const operation of demanding) {
      const texts = Object.fromEntries(confirmedNames(operation).map((name) => [name, name]))
      const { order, ...declared } = purposeOf(operation, texts)
      const { currency, ...named } = purposeByNames(texts)
      if (order !== undefined) continue
      // Without an amount, the currency is not shown.
      expect({ payee: {}, ...declared }, operation.id).toEqual(
        named.amount === undefined ? named : { ...named, currency },
      )
    }
  })

  it.each<[string, Partial<Operation>, string[]]>([
    ['complete', {}, []],
    ['a misspelled name', { purpose: ({ amount, giftId }) => ({ amount, order: giftId }) }, ['reads giftId']],
    ['an amount that is not shown', { purpose: ({ gift_id: order }) => ({ order }) }, ['must show amount']],
    ['a purpose that throws', { purpose: ({ amount = '' }) => ({ amount: BigInt(amount).toString() }) }, ['throws: ']],
    ['no purpose', { purpose: () => ({}) }, ['must show amount']],
    ['an operation of a document', { purpose: purposeByNames }, []],
    ['no step-up', { policy: own, confirms: [], purpose: () => ({}) }, []],
  ])('%s: checked at start', (_name, changed, expected) => {
    const errors = purposeErrors({ ...gift, ...changed })
    expect(errors.map((error) => /^(throws: |[^,]+)/.exec(error)?.[0])).toEqual(expected)
  })

  it('every operation of Portico passes the check', () => {
    expect(catalogue.flatMap(purposeErrors)).toEqual([])
  })
})

describe('an operation whose `confirms` is wrong is refused at start', () => {
  it.each<[string, Partial<Operation>, string]>([
    ['an unknown field', { confirms: ['gift_id', 'amount', 'payee'] }, 'payee is neither a path parameter nor'],
    [
      'a field of a union',
      { body: z.union([z.object({ note: z.string() }), z.null()]), confirms: ['gift_id', 'note'] },
      'note is',
    ],
    ['two fields of one name', { confirms: ['gift_id', 'amount', 'tag'] }, 'tag is the name of two fields'],
    [
      'a member of every purpose',
      { confirms: ['gift_id', 'operationId'], body: z.strictObject({ operationId: z.string() }) },
      'operationId has another meaning',
    ],
    ['a missing path parameter', { confirms: ['amount'] }, 'must list gift_id'],
    ['a missing amount', { confirms: ['gift_id'] }, 'must list amount'],
    ['a missing id', { body: z.strictObject({ userBizId: z.string() }), confirms: ['gift_id'] }, 'must list userBizId'],
    [
      'an amount and a payee in a list',
      { body: z.strictObject({ gifts: z.array(z.strictObject({ amount: z.string(), email: z.string() })) }) },
      'amount is neither',
    ],
    [
      'a missing list of amounts',
      { body: z.strictObject({ gifts: z.array(z.strictObject({ amount: z.string() })) }), confirms: ['gift_id'] },
      'must list gifts',
    ],
    [
      'a missing object of optional ids, below a union',
      {
        body: z.strictObject({
          to: z.union([z.null(), z.strictObject({ way: z.strictObject({ walletBizId: z.string() }).optional() })]),
        }),
        confirms: ['gift_id'],
      },
      'must list to',
    ],
    [
      'a missing record with named keys',
      { body: z.strictObject({ gift: z.record(z.enum(['amount']), z.string()) }), confirms: ['gift_id'] },
      'must list gift,',
    ],
    [
      'amounts in a body that is a list',
      { body: z.array(z.strictObject({ amount: z.string() })), confirms: ['gift_id'] },
      'cannot list amount',
    ],
    [
      'a missing id of an operation that may demand a step-up',
      {
        policy: { ...member, workspace: 'required', permission: null, stepUp: 'maybe' },
        confirms: [],
      },
      'must list amount',
    ],
  ])('%s', (_name, changed, expected) => {
    expect(confirmsErrors(gift)).toEqual([])
    expect(confirmsErrors({ ...gift, ...changed })[0]).toContain(expected)
  })

  it('an operation that cannot demand a step-up needs no `confirms`', () => {
    expect(confirmsErrors({ ...gift, policy: own, confirms: [] })).toEqual([])
  })
})

it('the audit log gets ids, amounts and codes, but no addresses, names and account numbers', () => {
  const fields = {
    amount: '5.00',
    roleBizId: 'r',
    permissionCodes: ['b', 'a'],
    email: 'a@b.test',
    accountNumber: 'DE1',
  }
  expect(auditedFields(fields)).toEqual({ amount: '5.00', roleBizId: 'r', permissionCodes: 'a b' })
})
