/*
 * A client of the secure channel (docs/reference/secure-channel.md) with plain WebCrypto, for Node 20 or newer. It opens a
 * session, starts a sign-in with a sealed body, opens the sealed reply, and shows that a body is valid once.
 *
 *   node examples/secure-channel/client.mjs [http://127.0.0.1:8080]
 */
const baseUrl = process.argv[2] ?? 'http://127.0.0.1:8080'
const clientHash = 'example-client'
const chain = '/web/v1/consumer'

const utf8 = (text) => new TextEncoder().encode(text)
const toBase64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const fromBase64 = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0))

/** In production, the edge sets X-Forwarded-Proto and the CF headers. */
const call = async (method, path, body, fields = {}) => {
  const response = await fetch(baseUrl + path, {
    method,
    headers: {
      'X-PORTAL-ACCESS-CODE': 'consumer-dev',
      'X-Request-Id': crypto.randomUUID(),
      'X-Forwarded-Proto': 'https',
      'CF-Connecting-IP': '203.0.113.7',
      'Cf-Ray': '8f2a1b3c4d5e6f70-FRA',
      'cf-ipcountry': 'DE',
      'X-Client-Hash': clientHash,
      'X-LOCALE': 'en',
      'Content-Type': 'application/json',
      ...fields,
    },
    body: body && JSON.stringify(body),
  })
  return response.json()
}

/** Returns the last three parts of a compact JWE: nonce, ciphertext, tag. The header is authenticated with them. */
const encrypt = async (header, key, text) => {
  const iv = crypto.getRandomValues(new Uint8Array(12))
  const gcm = { name: 'AES-GCM', iv, additionalData: utf8(header) }
  const sealed = new Uint8Array(await crypto.subtle.encrypt(gcm, key, utf8(text)))
  return [iv, sealed.subarray(0, -16), sealed.subarray(-16)].map(toBase64url).join('.')
}

const aesKey = (bytes) => crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt'])
const headerOf = (members) => toBase64url(utf8(JSON.stringify(members)))

/** Steps 1 and 2: fetch the gateway's public key, and send a session key that is encrypted with it. */
const openSession = async () => {
  const { data: offered, timestamp } = await call('GET', `${chain}/secure-channel/public-key`)
  const rsa = { name: 'RSA-OAEP', hash: 'SHA-256' }
  const publicKey = await crypto.subtle.importKey('spki', fromBase64(offered.publicKey), rsa, false, ['encrypt'])
  const contentKey = crypto.getRandomValues(new Uint8Array(32))
  const sessionKey = crypto.getRandomValues(new Uint8Array(32))
  const encryptedKey = new Uint8Array(await crypto.subtle.encrypt(rsa, publicKey, contentKey))
  const header = headerOf({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: offered.keyId })
  // Use the gateway's clock (the timestamp of the envelope), so that a wrong clock on this machine does not matter.
  const proposal = { key: toBase64url(sessionKey), clientHash, iat: Math.floor(timestamp / 1000) }
  const rest = await encrypt(header, await aesKey(contentKey), JSON.stringify(proposal))
  const payload = `${header}.${toBase64url(encryptedKey)}.${rest}`
  const opened = await call('POST', `${chain}/secure-channel/session`, { payload })
  return { id: opened.data.sessionId, key: await aesKey(sessionKey), seq: 0 }
}

/** Step 3: seal a body for one method and path. Every body has the next number. */
const seal = async (session, method, path, body) => {
  session.seq += 1
  const members = { alg: 'dir', enc: 'A256GCM', kid: session.id, seq: session.seq, htm: method, htu: path }
  const header = headerOf(members)
  return { payload: `${header}..${await encrypt(header, session.key, JSON.stringify(body))}` }
}

/** Step 4: open a reply. It must name the session, the request and the number of the body to which it belongs. */
const open = async (session, { requestId, seq }, { payload }) => {
  const [header, , iv, ciphertext, tag] = payload.split('.')
  const { alg, kid, msg, rid, seq: number } = JSON.parse(new TextDecoder().decode(fromBase64(header)))
  const isOurs = alg === 'dir' && kid === session.id && msg === 'reply' && rid === requestId && number === seq
  if (!isOurs) throw new Error('this is the reply to another request')
  const sealed = new Uint8Array([...fromBase64(ciphertext), ...fromBase64(tag)])
  const gcm = { name: 'AES-GCM', iv: fromBase64(iv), additionalData: utf8(header) }
  return JSON.parse(new TextDecoder().decode(await crypto.subtle.decrypt(gcm, session.key, sealed)))
}

const session = await openSession()
console.log(`session   open, ${session.id.slice(0, 8)}…`)

const path = `${chain}/auth/login/initiate`
const sealed = await seal(session, 'POST', path, { email: 'owner@demo.test', password: 'Portico-demo-2026' })
const inChannel = { 'X-Secure-Channel-Session-Id': session.id, 'X-Secure-Channel-Reply': 'encrypted' }
const requestId = crypto.randomUUID()
const answer = await call('POST', path, sealed, { ...inChannel, 'X-Request-Id': requestId })
const login = await open(session, { requestId, seq: 1 }, answer.data)
console.log(`sign-in   ${login.mfaMethods.map(({ code }) => code).join(', ')} offered, ${login.expiresIn} s`)

const replayed = await call('POST', path, sealed, inChannel)
console.log(`replay    ${replayed.code}`)

await call('POST', `${chain}/secure-channel/session/close`, undefined, { 'X-Secure-Channel-Session-Id': session.id })
const late = await call('POST', path, await seal(session, 'POST', path, {}), inChannel)
console.log(`closed    ${late.code}`)
