/**
 * The canonical form of each kind of identifier. Two spellings of one identifier have the same form. Each kind has a
 * file; start with bank-accounts.ts. Checksums are checked where the standard has one. Imports no other folder.
 */

export { canonicalBankCode, identifyBankAccount } from './bank-accounts.ts'
export { type AddressForm, identifyAddress } from './crypto-addresses.ts'
export { canonicalReference } from './references.ts'
export { canonicalNetwork, type Identified } from './text.ts'
