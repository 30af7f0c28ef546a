import { containedIban, isIban, looksLikeIban } from './iban.ts'
import { type Identified, lettersAndDigits, readableIdentifier } from './text.ts'

/** Bank, country and place, with or without a branch (ISO 9362). */
const bic = /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/

/** Without it, `BIC COBADEFF` would have the form of a BIC itself. */
const bicLabel = /^(?:(?:BIC|SWIFT|CODE)[^\p{L}\p{N}]+)+(?=[\p{L}\p{N}])/iu

const ibanLabel = /^IBAN(?=[A-Z]{2}\d{2})/

/**
 * Returns the letters and digits of a BIC or national bank code, in upper case. Of a BIC, these are the first eight:
 * `COBADEFFXXX` and `COBADEFF370` are offices of one bank. The result is empty if the text has none.
 */
export function canonicalBankCode(text: string): string {
  const code = lettersAndDigits(readableIdentifier(text).replace(bicLabel, '')).toUpperCase()
  return bic.test(code) ? code.slice(0, 8) : code
}

/**
 * The canonical form of an IBAN is the IBAN, regardless of the bank code. That of another number is the canonical bank
 * code, a blank, and the letters and digits of the number, both without leading zeros. A number that begins as an IBAN
 * does must be one. The only text that can precede it is `IBAN`: a stored number that contains one is identified by it.
 */
export function identifyBankAccount(account: { bankCode: string; accountNumber: string }): Identified {
  const number = lettersAndDigits(account.accountNumber).toUpperCase().replace(ibanLabel, '')
  if (looksLikeIban(number)) return { canonical: number, fault: isIban(number) ? null : 'invalid_checksum' }
  const iban = containedIban(number)
  if (iban !== undefined) return { canonical: iban, fault: 'invalid_format' }
  const canonical = [canonicalBankCode(account.bankCode), number].map(withoutLeadingZeros).join(' ')
  return { canonical, fault: /^[A-Z0-9]{4,}$/.test(number) ? null : 'invalid_format' }
}

/** Forms and banks fill a number up to their own length. */
function withoutLeadingZeros(text: string): string {
  return /^\d+$/.test(text) ? text.replace(/^0+(?=\d)/, '') : text
}
