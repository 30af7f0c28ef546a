/** The reason why a text is not a valid identifier, for the header `X-Portico-Fields`. */
export type IdentifierFault = 'invalid_format' | 'invalid_checksum'

export interface Identified {
  /** Of an invalid identifier, a form that still does not depend on blanks and invisible characters. */
  canonical: string
  /** Null for a valid identifier. */
  fault: IdentifierFault | null
  /** The identifier belongs to a test network, where money has no value. */
  isTest?: boolean
}

/** Soft hyphens, zero-width characters and direction marks, which copying from web pages adds. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Returns what a person should read: NFKC (Unicode Standard Annex 15) without invisible characters, on one line. Blanks,
 * hyphens and the case stay.
 */
export function readableIdentifier(text: string): string {
  return text.normalize('NFKC').replaceAll(invisible, '').normalize('NFKC').replaceAll(/\s+/g, ' ').trim()
}

export function lettersAndDigits(text: string): string {
  return readableIdentifier(text).replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/** The letters and digits of a network's name in upper case, so that `TRC-20` and `trc20` are one network. */
export function canonicalNetwork(name: string): string {
  return lettersAndDigits(name).toUpperCase()
}
