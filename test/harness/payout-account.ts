import { randomInt } from 'node:crypto'

/** Returns a different account for each call. */
export function payoutAccount(changed: object = {}) {
  return {
    channelType: 'BANK',
    currency: 'USD',
    country: 'DE',
    accountHolderName: 'Ada Lovelace',
    accountNumber: randomIban(),
    bankCode: 'COBADEFF',
    ...changed,
  }
}

/** A German IBAN with valid check digits (ISO 7064 MOD 97-10). */
export function randomIban(): string {
  const [bank, account] = [randomInt(1e8), randomInt(1e10)].map(String)
  const digits = `${bank?.padStart(8, '0')}${account?.padStart(10, '0')}`
  // D and E have the values 13 and 14.
  const checkDigits = 98n - (BigInt(`${digits}131400`) % 97n)
  return `DE${String(checkDigits).padStart(2, '0')}${digits}`
}
