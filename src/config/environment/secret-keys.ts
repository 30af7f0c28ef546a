import type { Variables } from '../env.ts'
import { developmentKey } from '../production.ts'

/** Values that were made before a rotation need the previous keys. */
export interface SecretKeys {
  current: Uint8Array
  previous: Uint8Array[]
}

/** Base64 or base64url (RFC 4648). Node ignores other characters, so a typing error would result in a different key. */
const base64Key = /^[A-Za-z0-9+/_-]{43}=?$/

export function secretKeysOf(variables: Variables, errors: string[]): SecretKeys {
  const { PORTICO_SECRET_KEY: text, PORTICO_SECRET_KEY_PREVIOUS: others } = variables
  const current = text === undefined ? developmentKey() : parseKey('PORTICO_SECRET_KEY', text, errors)
  const name = 'PORTICO_SECRET_KEY_PREVIOUS'
  const previous = others === undefined ? [] : others.split(',').map((each) => parseKey(name, each, errors))
  const all = [current, ...previous].map((key) => Buffer.from(key).toString('base64'))
  if (new Set(all).size < all.length) errors.push(`${name}: must not repeat a key, nor contain PORTICO_SECRET_KEY`)
  return { current, previous }
}

function parseKey(name: string, text: string, errors: string[]): Uint8Array {
  if (!base64Key.test(text.trim()))
    errors.push(`${name}: must be 32 bytes in base64, such as from \`openssl rand -base64 32\``)
  return new Uint8Array(Buffer.from(text, 'base64'))
}
