import { SignJWT } from 'jose'
import { type AssertionSigner, addMs, type Clock, type Ids } from '../../kernel/index.ts'
import { assertionType } from './claims.ts'
import type { SigningKeys } from './signing-keys.ts'

/** Signs with the keys of the access tokens, so that one JWK Set checks both. */
export const createAssertionSigner = (keys: SigningKeys, clock: Clock, ids: Ids, issuer: string): AssertionSigner => ({
  sign: async ({ audience, claims, ttlMs }) => {
    const { kid, privateKey } = await keys.signing()
    const now = clock.now()
    const issued = Math.floor(now / 1_000)
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA', typ: assertionType, kid })
      .setIssuer(issuer)
      .setAudience(audience)
      .setJti(ids.next<'assertion'>())
      .setIssuedAt(issued)
      .setNotBefore(issued)
      .setExpirationTime(Math.ceil(addMs(now, ttlMs) / 1_000))
      .sign(privateKey)
  },
})
