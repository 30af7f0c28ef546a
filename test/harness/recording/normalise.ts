import { isJsonObject, type Json } from '../../../src/openapi/json.ts'

const epoch = Date.parse('2026-03-02T09:30:00.000Z')
const dayMs = 86_400_000

/** Secret or random fields. */
const masks: Readonly<Record<string, string>> = {
  accessToken: '<accessToken>',
  refreshToken: '<refreshToken>',
  token: '<token>',
  turnstileToken: '<turnstileToken>',
  payload: '<payload>',
  secret: '<secret>',
  qrCodeUri: 'otpauth://totp/<issuer>:<account>?secret=<secret>&issuer=<issuer>',
  publicKey: '<publicKey>',
  keyId: '<keyId>',
  keyPrefix: 'ptk_3f9a1c5e7b20',
  head: '19:4f0c7d5b1f3c9a86e2d7b4a1905c3e8f6a2b1d0c9e8f7a6b5c4d3e2f1a0b9c8d',
  keyLast4: 'x7Qd',
  password: 'correct horse battery staple',
  newPassword: 'correct horse battery staple 2',
  currentPassword: 'correct horse battery staple',
  userAgent: 'Mozilla/5.0',
  maskedDestination: 'n***@people.test',
  maskedAccount: '****3000',
  clientHash: '<clientHash>',
  state: '<state>',
  replica: 'gateway-1',
  queue: '<queue>',
  iss: 'https://login.example',
  authorizationUrl:
    'https://login.example/authorize?client_id=portico&state=<state>&nonce=<nonce>&code_challenge=<challenge>',
  endSessionUrl:
    'https://login.example/logout?id_token_hint=<idToken>&post_logout_redirect_uri=https://portal.example/',
}

/** Measurements, which differ in each run. */
const measured: Readonly<Record<string, number>> = { ms: 12.5, p99Ms: 48.2, uptimeSeconds: 86_400 }

/** Parts of a passkey, which must stay base64url. */
const encoded: Readonly<Record<string, string>> = {
  id: 'KEDetxZcUfinhVi6Za5nZQ',
  rawId: 'KEDetxZcUfinhVi6Za5nZQ',
  challenge: 'kPNLdyAhyeMBP1l0eS6-Lw5dRFWlVsP_m1gJLqd1q3o',
  clientDataJSON: 'e30',
  attestationObject: 'o2NmbXRkbm9uZQ',
  authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAg',
  signature: 'MEUCIQDx0v9JbqFzZ2Zc',
}

/** Local part of test addresses. */
const newcomer = /\b[0-9a-f]{8}(?=@)/g
/** A receiver of webhooks in tests. */
const receiver = /^http:\/\/127\.0\.0\.1:\d+\/(?=hooks)/
const orderNo = /^([A-Z]{3})-\d{8}-[0-9A-Z]{12}$/
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const timestampPattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
function isOpaque(text: string): boolean {
  return /^[\w+/=.-]{32,}$/.test(text) && /\d/.test(text)
}

/** A future time keeps its distance in minutes. A past time becomes `epoch`. */
function shifted(text: string, now: number): string {
  const away = Date.parse(text) - now
  if (Math.abs(away) > 40_000 * dayMs) return text
  const moved = new Date(epoch + Math.max(0, Math.round(away / 60_000)) * 60_000).toISOString()
  const digits = /\.(\d+)Z$/.exec(text)?.[1]?.length ?? 0
  return digits === 0 ? moved.replace(/\.\d+/, '') : moved.replace('Z', `${'0'.repeat(Math.max(0, digits - 3))}Z`)
}

/**
 * Numbers ids, moves times to `epoch`, shortens lists and replaces secret or random values. `now` is the time of the
 * exchange.
 */
export function normaliser(now: number): (value: Json) => Json {
  const ids = new Map<string, string>()
  const numbered = (id: string): string => {
    const known = ids.get(id) ?? `01933b6e-7c1a-7e0a-8f35-${String(ids.size + 1).padStart(12, '0')}`
    ids.set(id, known)
    return known
  }
  const textOf = (name: string, text: string): string => {
    if (name === 'code' || name === 'codes')
      return /^\d{6}$/.test(text) ? '123456' : name === 'code' && !isOpaque(text) ? text : '<code>'
    if (masks[name] !== undefined) return masks[name]
    if (orderNo.test(text)) return text.replace(orderNo, '$1-20260302-7MSJ18Q5BKDM')
    const plain = text
      .replaceAll(uuid, numbered)
      .replaceAll(newcomer, 'newcomer')
      .replace(receiver, 'https://example.com/')
      .replace(/(?<=[?&]ticket=)[\w-]{43}/, '<ticket>')
      .replaceAll(timestampPattern, (each) => shifted(each, now))
    const isRandom = plain === text && isOpaque(text) && !/^\d+(\.\d+)?$/.test(text)
    return isRandom ? (encoded[name] ?? `<${name}>`) : plain
  }
  const visit = (name: string, value: Json): Json => {
    if (typeof value === 'string') return textOf(name, value)
    if (name === 'timestamp' && typeof value === 'number') return epoch
    if (typeof value === 'number') return measured[name] ?? value
    if (Array.isArray(value)) return value.slice(0, 2).map((item) => visit(name, item))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, visit(key, member)]))
  }
  return (value) => visit('', value)
}
