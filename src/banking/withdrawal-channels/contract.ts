import * as z from 'zod'
import { country } from '../../contract/account-fields.ts'
import { statusEvents } from '../../contract/events/event.ts'
import {
  bizId,
  coded,
  codeOf,
  currency,
  id,
  line,
  reason,
  text,
  timestamp,
  workspaceFields,
  workspaceFilters,
} from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member, money, operator } from '../../contract/policies.ts'
import { channelType } from '../../contract/shared-schemas.ts'
import { type CodeOf, type ConfirmedTexts, codedFamily, operation, type Purpose } from '../../kernel/index.ts'

export const summary = 'Payout accounts. Operators verify them.'

export const permissions = {
  workspace: {
    'withdrawal-channel': { sortOrder: 1100, actions: ['read', 'manage'], peopleOnly: ['manage'], payouts: ['manage'] },
  },
  operator: {
    'withdrawal-channel': { sortOrder: 800, actions: ['read', 'verify', 'reveal'], powers: ['verify', 'reveal'] },
  },
} as const satisfies Permissions

export const withdrawalChannelStatus = codedFamily('withdrawalChannelStatus', {
  PENDING_VERIFICATION: 10091001,
  ACTIVE: 10091002,
  DISABLED: 10091003,
  REJECTED: 10091004,
  SUSPENDED: 10091005,
})
export type WithdrawalChannelStatus = CodeOf<typeof withdrawalChannelStatus>

export { channelType }
export type ChannelType = CodeOf<typeof channelType>

const payoutChannelType = codeOf(channelType).extract(['BANK', 'CRYPTO']).meta({ title: 'PayoutChannelType' })

/** At least four letters or digits, with separators. */
const accountNumber = /^(?:[\s\p{Pd}\u2212:.]*[0-9A-Za-z]){4}[\s\p{Pd}\u2212:.0-9A-Za-z]*$/u

/** Replies contain the account number only in masked form. */
const WithdrawalChannelRequest = z
  .strictObject({
    channelType: payoutChannelType,
    currency,
    country,
    accountHolderName: line(128),
    accountNumber: pasted(128, 4)
      .refine((value) => accountNumber.test(value), { params: { reason: 'invalid_format' } })
      .meta({ description: 'Separators, case and width are ignored. The checksum must be correct' }),
    bankCode: pasted(32).optional().meta({ description: 'Required for a BANK account, not allowed otherwise' }),
    network: pasted(32).optional().meta({ description: 'Required for a CRYPTO address, not allowed otherwise' }),
  })
  .refine((body) => body.bankCode !== undefined || body.channelType !== 'BANK', missing('bankCode'))
  .refine((body) => body.bankCode === undefined || body.channelType === 'BANK', { path: ['bankCode'] })
  .refine((body) => body.network !== undefined || body.channelType !== 'CRYPTO', missing('network'))
  .refine((body) => body.network === undefined || body.channelType === 'CRYPTO', { path: ['network'] })

const WithdrawalChannel = z.object({
  bizId,
  workspaceBizId: bizId,
  channelType: coded(channelType),
  currency: z.string(),
  country: z.string(),
  accountHolderName: z.string(),
  maskedAccount: z.string(),
  bankCode: z.string().nullable(),
  network: z.string().nullable(),
  channelStatus: coded(withdrawalChannelStatus),
  rejectReason: z.string().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
})

export const events = statusEvents('withdrawal_channel', withdrawalChannelStatus.codes, {
  object: 'A payout account',
  data: WithdrawalChannel,
  audience: 'workspace',
  permission: 'withdrawal-channel:read',
})

declare global {
  interface PorticoEvents {
    withdrawalChannels: typeof events
  }
}

/** An operator verifies this account or pays to it. */
const RevealedAccount = z.object({
  bizId,
  workspaceBizId: bizId,
  channelType: coded(channelType),
  currency: z.string(),
  country: z.string(),
  accountHolderName: z.string(),
  accountNumber: z.string(),
  bankCode: z.string().nullable(),
  network: z.string().nullable(),
  channelStatus: coded(withdrawalChannelStatus),
})

const filters = {
  channelStatus: codeOf(withdrawalChannelStatus).optional(),
  channelType: payoutChannelType.optional(),
  currency: currency.optional(),
}

export const listWithdrawalChannels = operation({
  id: 'withdrawalChannels.list',
  method: 'GET',
  path: '/withdrawal-channels',
  chains: ['consumer'],
  summary: 'List the withdrawal channels of a workspace',
  policy: { ...member, workspace: 'optional', permission: 'withdrawal-channel:read' },
  query: z.strictObject(filters),
  body: 'none',
  reply: z.array(WithdrawalChannel),
  refuses: [],
})

export const createWithdrawalChannel = operation({
  id: 'withdrawalChannels.create',
  method: 'POST',
  path: '/withdrawal-channels',
  emits: ['withdrawal_channel.pending_verification'],
  chains: ['consumer'],
  summary: 'Register an account for payouts',
  policy: { ...money, workspace: 'optional', permission: 'withdrawal-channel:manage', stepUp: true },
  confirms: ['channelType', 'currency', 'country', 'accountHolderName', 'accountNumber', 'bankCode', 'network'],
  body: WithdrawalChannelRequest,
  reply: WithdrawalChannel,
  refuses: ['STATE.CONFLICT', 'ACCESS.PAYOUT_HOLD'],
})

export const reactivateWithdrawalChannel = operation({
  id: 'withdrawalChannels.reactivate',
  method: 'POST',
  path: '/withdrawal-channels/{withdrawal_channel_id}/reactivate',
  emits: ['withdrawal_channel.pending_verification'],
  chains: ['consumer'],
  summary: 'Confirm a suspended withdrawal channel',
  policy: { ...member, workspace: 'optional', permission: 'withdrawal-channel:manage', stepUp: true },
  purpose: ofChannel,
  body: 'none',
  reply: WithdrawalChannel,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT', 'ACCESS.PAYOUT_HOLD'],
})

export const listAllWithdrawalChannels = operation({
  id: 'withdrawalChannels.listAll',
  method: 'GET',
  path: '/withdrawal-channels',
  chains: ['system'],
  summary: 'List the withdrawal channels of all workspaces',
  policy: { ...operator, permission: 'withdrawal-channel:read' },
  query: listQuery(['createdAt', 'updatedAt'], {
    ...filters,
    ...workspaceFilters,
    withdrawalChannelId: id.optional(),
  }),
  body: 'none',
  reply: page(WithdrawalChannel.extend(workspaceFields)),
  refuses: [],
})

const verification = {
  method: 'POST',
  chains: ['system'],
  policy: { ...operator, permission: 'withdrawal-channel:verify', stepUp: true },
  purpose: ofChannel,
  reply: WithdrawalChannel,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const verifyWithdrawalChannel = operation({
  ...verification,
  id: 'withdrawalChannels.verify',
  path: '/withdrawal-channels/{withdrawal_channel_id}/verify',
  emits: ['withdrawal_channel.active'],
  summary: 'Verify a withdrawal channel of another person',
  body: 'none',
})

export const rejectWithdrawalChannel = operation({
  ...verification,
  id: 'withdrawalChannels.reject',
  path: '/withdrawal-channels/{withdrawal_channel_id}/reject',
  emits: ['withdrawal_channel.rejected', 'withdrawal_channel.disabled'],
  summary: 'Reject or disable a withdrawal channel',
  body: z.strictObject({ reason }),
})

export const revealWithdrawalChannel = operation({
  id: 'withdrawalChannels.reveal',
  method: 'POST',
  path: '/withdrawal-channels/{withdrawal_channel_id}/reveal',
  chains: ['system'],
  summary: 'Reveal the account number of a channel',
  policy: { ...operator, permission: 'withdrawal-channel:reveal', stepUp: true, rate: 'reveal' },
  purpose: ofChannel,
  auditsRefusals: true,
  body: z.strictObject({ reason }),
  reply: RevealedAccount,
  refuses: ['RESOURCE.NOT_FOUND'],
})

function ofChannel({ withdrawal_channel_id: withdrawalChannel }: ConfirmedTexts): Purpose {
  return { payee: { withdrawalChannel } }
}

function missing(field: string) {
  return { path: [field], params: { reason: 'missing' } }
}

/** Without the width and the invisible characters of pasted text, so that operators read what is compared. */
function pasted(max: number, min = 1) {
  return text(max, min)
    .overwrite((value) =>
      value
        .normalize('NFKC')
        .replaceAll(/\p{Cf}/gu, '')
        .trim(),
    )
    .max(max)
}
