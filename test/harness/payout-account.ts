import { randomUUID } from 'node:crypto'

/** Input for withdrawalChannels.create. Each call returns a different account. */
export const payoutAccount = (changed: object = {}) => ({
  channelType: 'BANK',
  currency: 'USD',
  country: 'DE',
  accountHolderName: 'Ada Lovelace',
  accountNumber: `DE${randomUUID().replaceAll('-', '').slice(0, 20)}`,
  bankCode: 'COBADEFF',
  ...changed,
})
