import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { type JSONWebKeySet, SignJWT } from 'jose'
import { type ForwardedCaller, toClaims } from '../../backends/index.ts'
import { accessTokenType, assertionType, createAssertionSigner } from '../../identity/index.ts'
import { addMs, type Clock, type Ids } from '../../kernel/index.ts'

/** The lifetime of an assertion. */
const ttlMs = 60_000
/** Longer than the lifetime and any reasonable clock tolerance. */
const shiftMs = 600_000

interface Key {
  kid: string
  privateKey: KeyObject
  publicKey: KeyObject
}

interface Changes {
  key?: Key
  shiftMs?: number
  audience?: string
  issuer?: string
}

/** Null is a request without an assertion. */
type Sign = (caller: ForwardedCaller) => Promise<string | null>

/** Signs call assertions as a gateway does, with its own key, and others that a service must refuse. */
export class Assertions {
  readonly #clock: Clock
  readonly #ids: Ids
  readonly #issuer: string
  readonly #audience: string
  readonly #key: Key

  constructor(clock: Clock, ids: Ids, { issuer, audience }: { issuer: string; audience: string }) {
    this.#clock = clock
    this.#ids = ids
    this.#issuer = issuer
    this.#audience = audience
    this.#key = createKey(ids.next())
  }

  jwks(): JSONWebKeySet {
    const { kid, publicKey } = this.#key
    return { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' }] }
  }

  sign(caller: ForwardedCaller): Promise<string> {
    return this.#signWith(caller, {})
  }

  /** Assertions that a service must refuse, by the name of the check. */
  invalid(): Readonly<Record<string, Sign>> {
    const signWith =
      (changes: Changes): Sign =>
      (caller) =>
        this.#signWith(caller, changes)
    return {
      'a call without an assertion is refused': async () => null,
      'a token that is not a JWT is refused': async () => 'not-a-token',
      'an unsigned assertion is refused': (caller) => this.#signNothing(caller),
      'an assertion with a wrong signature is refused': signWith({ key: createKey(this.#key.kid) }),
      'an expired assertion is refused': signWith({ shiftMs: -shiftMs }),
      'an assertion that is not valid yet is refused': signWith({ shiftMs }),
      'an assertion for another audience is refused': signWith({ audience: `not-${this.#audience}` }),
      'an assertion of another issuer is refused': signWith({ issuer: `not-${this.#issuer}` }),
      'an access token is refused': (caller) => this.#signAccessToken(caller),
    }
  }

  #signWith(caller: ForwardedCaller, changes: Changes): Promise<string> {
    const key = changes.key ?? this.#key
    const clock = { now: () => addMs(this.#clock.now(), changes.shiftMs ?? 0) }
    const signer = createAssertionSigner({ signing: async () => key }, clock, this.#ids, changes.issuer ?? this.#issuer)
    return signer.sign({ audience: changes.audience ?? this.#audience, claims: toClaims(caller), ttlMs })
  }

  /** Only `typ` distinguishes it from an assertion (RFC 8725, section 3.11). */
  #signAccessToken(caller: ForwardedCaller): Promise<string> {
    const seconds = Math.floor(this.#clock.now() / 1_000)
    return new SignJWT({ ...toClaims(caller) })
      .setProtectedHeader({ alg: 'EdDSA', typ: accessTokenType, kid: this.#key.kid })
      .setIssuer(this.#issuer)
      .setAudience(this.#audience)
      .setIssuedAt(seconds)
      .setNotBefore(seconds)
      .setExpirationTime(seconds + ttlMs / 1_000)
      .sign(this.#key.privateKey)
  }

  async #signNothing(caller: ForwardedCaller): Promise<string> {
    const [, payload] = (await this.sign(caller)).split('.')
    return `${encode({ alg: 'none', typ: assertionType, kid: this.#key.kid })}.${payload}.`
  }
}

function createKey(kid: string): Key {
  return { kid, ...generateKeyPairSync('ed25519') }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
