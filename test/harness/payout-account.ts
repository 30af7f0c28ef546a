import { randomUUID } from 'node:crypto'

/** An account that a workspace may pay out to, as withdrawalChannels.create takes it; another one at each call. */
export const payoutAccount = (changed: object = {}) => ({
  channelType: 'BANK',
  currency: 'USD',
  country: 'DE',
  accountHolderName: 'Ada Lovelace',
  accountNumber: `DE${randomUUID().replaceAll('-', '').slice(0, 20)}`,
  bankCode: 'COBADEFF',
  ...changed,
})
