/*
 * Creates an API key with a public key, and signs requests with its private key.
 *
 *   npx node examples/client/signed-requests.mjs [http://127.0.0.1:8080] [http://127.0.0.1:9090]
 *
 * In a project of your own, import from 'portico/client'.
 */
import { createApiClient, createClient } from '../../src/client/index.ts'

const [baseUrl = 'http://127.0.0.1:8080', operationsUrl = 'http://127.0.0.1:9090'] = process.argv.slice(2)
const email = 'owner@demo.test'

/** Returns the newest code in the development outbox. In a portal, ask the user instead. */
const readCode = async (template) => {
  const mails = await (await fetch(`${operationsUrl}/mail.json`)).json()
  return /\b\d{6}\b/.exec(mails.find((mail) => mail.to === email && mail.template === template).text)[0]
}

// The private key cannot be read, not even by this program.
const { privateKey, publicKey } = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify'])
const { kty, crv, x } = await crypto.subtle.exportKey('jwk', publicKey)

// An edge sets the edge headers in production. Here the client sets them.
const owner = createClient({
  baseUrl,
  portal: 'CONSUMER',
  accessCode: 'consumer-dev',
  edgeHeaders: true,
  onStepUp: { code: () => readCode('step-up-code') },
})
await owner.signIn({ email, password: 'Portico-demo-2026', code: () => readCode('login-code') })
const apiKeyName = `Signer ${Date.now()}`
const [{ workspaceBizId: workspaceId }] = await owner.listWallets()
const { keyPrefix, secret, bizId } = await owner.createApiKey({
  workspaceId,
  body: { apiKeyName, permissionCodes: ['wallet:read'], publicKey: { kty, crv, x } },
})
console.log(`${apiKeyName}: secret ${secret}`)

const machine = createApiClient({ baseUrl, apiKey: { keyPrefix, privateKey } })
for (const { walletName } of await machine.listWallets()) console.log(walletName)

await owner.deleteApiKey({ workspaceId, body: { apiKeyBizId: bizId } })
await owner.signOut()
await owner.close()
