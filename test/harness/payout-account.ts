import { randomUUID } from 'node:crypto'

/** Returns a different account for each call. */
export const payoutAccount = (changed: object = {}) => ({
  channelType: 'BANK',
  currency: 'USD',
  country: 'DE',
  accountHolderName: 'Ada Lovelace',
  accountNumber: `DE${randomUUID().replaceAll('-', '').slice(0, 20)}`,
  bankCode: 'COBADEFF',
  ...changed,
})
