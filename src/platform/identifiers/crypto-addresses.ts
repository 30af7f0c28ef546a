import { sha256 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58, bech32, bech32m, createBase58check } from '@scure/base'
import { type Identified, lettersAndDigits, readableIdentifier } from './text.ts'

/** A form of addresses. A network can have several. */
export type AddressForm =
  /** 20 bytes in hex. Mixed case is a checksum (EIP-55). */
  | { form: 'eip55' }
  /** Hex of this many bytes, with or without `0x`. */
  | { form: 'hex'; bytes: number }
  /** 20 bytes after a byte that names the network, with a checksum of four bytes. */
  | { form: 'base58check'; versions: number[]; testVersions: number[] }
  /** This many bytes without a checksum. */
  | { form: 'base58'; bytes: number }
  /** Bech32 (BIP 173) or Bech32m (BIP 350). `segwit` is a witness program, `bech32` is other data of any length. */
  | { form: 'segwit' | 'bech32'; prefixes: string[]; testPrefixes: string[] }
  /** Compared as written, without blanks. */
  | { form: 'text' }

const base58check = createBase58check(sha256)

/** Uses the first form that fits. If none fits, reports a wrong checksum rather than a wrong format. */
export function identifyAddress(text: string, forms: readonly AddressForm[]): Identified {
  const found = forms.map((form) => identifyBy(form, text))
  return (
    found.find(({ fault }) => fault === null) ??
    found.find(({ fault }) => fault === 'invalid_checksum') ??
    malformed(readableIdentifier(text).replaceAll(' ', ''))
  )
}

function identifyBy(form: AddressForm, text: string): Identified {
  const address = lettersAndDigits(text)
  switch (form.form) {
    case 'eip55':
      return identifyEip55(address)
    case 'hex':
      return identifyHex(address, form.bytes)
    case 'base58check':
      return identifyBase58check(address, form)
    case 'base58':
      return tryDecode(() => base58.decode(address))?.length === form.bytes ? valid(address) : malformed(address)
    case 'segwit':
    case 'bech32':
      return identifyBech32(address, form)
    case 'text':
      return valid(readableIdentifier(text).replaceAll(' ', ''))
  }
}

function identifyHex(address: string, bytes: number): Identified {
  const digits = address.replace(/^0x/i, '').toLowerCase()
  return /^[0-9a-f]+$/.test(digits) && digits.length === 2 * bytes ? valid(`0x${digits}`) : malformed(address)
}

/** Software that does not know EIP-55 writes addresses in one case. */
function identifyEip55(address: string): Identified {
  const found = identifyHex(address, 20)
  const digits = address.replace(/^0x/i, '')
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  if (found.fault !== null || !isMixed || digits === withChecksum(digits.toLowerCase())) return found
  return { ...found, fault: 'invalid_checksum' }
}

function withChecksum(digits: string): string {
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString('hex')
  return [...digits].map((digit, i) => (parseInt(hash.charAt(i), 16) >= 8 ? digit.toUpperCase() : digit)).join('')
}

function identifyBase58check(
  address: string,
  { versions, testVersions }: Extract<AddressForm, { form: 'base58check' }>,
): Identified {
  const payload = tryDecode(() => base58check.decode(address))
  if (!payload) {
    const isSized = tryDecode(() => base58.decode(address))?.length === 25
    return isSized ? { canonical: address, fault: 'invalid_checksum' } : malformed(address)
  }
  return payload.length === 21 ? ofNetwork(address, payload[0], versions, testVersions) : malformed(address)
}

/** Mixed case is invalid (BIP 173), and the lower case is canonical. */
function identifyBech32(
  address: string,
  { form, prefixes, testPrefixes }: Extract<AddressForm, { form: 'bech32' | 'segwit' }>,
): Identified {
  const canonical = address.toLowerCase()
  const prefix = canonical.slice(0, Math.max(0, canonical.lastIndexOf('1')))
  if (![...prefixes, ...testPrefixes].includes(prefix)) return malformed(address)
  const [v0, later] = [bech32, bech32m].map((codec) => codec.decodeUnsafe(address, form === 'segwit' && 90))
  const words = v0?.words ?? later?.words
  if (!words) return { canonical, fault: 'invalid_checksum' }
  if (form === 'segwit' && !isWitnessProgram(words, v0 !== undefined)) return malformed(address)
  return ofNetwork(canonical, prefix, prefixes, testPrefixes)
}

/** BIP 141: version 0 has 20 or 32 bytes. BIP 350: only version 0 is Bech32. */
function isWitnessProgram([version = 17, ...words]: readonly number[], isBech32: boolean): boolean {
  const length = bech32.fromWordsUnsafe(words)?.length ?? 0
  if (version === 0) return isBech32 && (length === 20 || length === 32)
  return version <= 16 && !isBech32 && length >= 2 && length <= 40
}

function ofNetwork<T>(canonical: string, found: T, live: readonly T[], test: readonly T[]): Identified {
  if (live.includes(found)) return valid(canonical)
  return test.includes(found) ? { ...valid(canonical), isTest: true } : malformed(canonical)
}

function valid(canonical: string): Identified {
  return { canonical, fault: null }
}

function malformed(canonical: string): Identified {
  return { canonical, fault: 'invalid_format' }
}

/** The decoder throws for an invalid text. */
function tryDecode(decode: () => Uint8Array): Uint8Array | undefined {
  try {
    return decode()
  } catch {
    return undefined
  }
}
