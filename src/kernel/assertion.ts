/** What the gateway asserts of a call to an upstream. */
export interface Assertion {
  /** The one upstream that it is for. */
  audience: string
  claims: Record<string, unknown>
  /** How long it is good, in ms. */
  ttl: number
}

/** Makes it a JWT with `iss`, `iat` and `exp`, verifiable against the gateway's JWKS. */
export interface AssertionSigner {
  sign(assertion: Assertion): Promise<string>
}
