import { createPasskeyRequest, type ResetPasswordRequest } from 'portal-client'
import { client } from '../client.ts'
import { Cancelled } from '../prompts.ts'

/*
 * Ceremonies of visitors, whose results are fields of other requests. The client runs those of sign-ins and step-ups.
 */

type Assertion = NonNullable<ResetPasswordRequest['passkey']>

/** Signs a challenge by one of the passkeys that the browser has for the portal. */
export async function signByPasskey(): Promise<Assertion> {
  const { challenge, timeout, rpId, allowCredentials, userVerification } = await client.call(createPasskeyRequest, {
    body: {},
  })
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON({
    challenge,
    timeout,
    rpId,
    userVerification,
    allowCredentials,
  })
  const json = (await credentialOf(navigator.credentials.get({ publicKey }))).toJSON()
  if (!('signature' in json.response)) throw new TypeError('not a signature')
  const { clientDataJSON, authenticatorData, signature, userHandle } = json.response
  return {
    id: json.id,
    rawId: json.rawId,
    type: 'public-key',
    response: { clientDataJSON, authenticatorData, signature, ...(userHandle !== undefined && { userHandle }) },
  }
}

/** Browsers do not tell whether the user cancelled. */
export async function credentialOf(ceremony: Promise<Credential | null>): Promise<PublicKeyCredential> {
  const credential = await ceremony.catch((error: unknown) => {
    throw error instanceof DOMException && error.name === 'NotAllowedError' ? new Cancelled('cancelled') : error
  })
  if (!(credential instanceof PublicKeyCredential)) throw new TypeError('no passkey')
  return credential
}
