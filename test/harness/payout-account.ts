import { randomUUID } from 'node:crypto'

/** Returns a different account for each call. */
export function payoutAccount(changed: object = {}) {
  return {
    channelType: 'BANK',
    currency: 'USD',
    country: 'DE',
    accountHolderName: 'Ada Lovelace',
    accountNumber: `DE${randomUUID().replaceAll('-', '').slice(0, 20)}`,
    bankCode: 'COBADEFF',
    ...changed,
  }
}
