import { createFirstPasskeyOptions, registerFirstPasskey } from 'portal-client'
import { client } from '../../kit/client.ts'
import { credentialOf } from '../../kit/sign-in/webauthn.ts'

/** Registers the first passkey by the token of the registration. */
export async function registerFirst(token: string): Promise<void> {
  const options = await client.call(createFirstPasskeyOptions, { body: { token } })
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const { id, rawId, response } = (await credentialOf(navigator.credentials.create({ publicKey }))).toJSON()
  if (!('attestationObject' in response)) throw new TypeError('not a new passkey')
  const { clientDataJSON, attestationObject, transports } = response
  const credential = {
    id,
    rawId,
    type: 'public-key',
    response: { clientDataJSON, attestationObject, transports },
  } as const
  await client.call(registerFirstPasskey, { body: { token, credential } })
}
