import type { Operation } from '../../src/kernel/index.ts'
import { type Answer, type Call, requiredHeaders } from './http.ts'

export interface AuditEntry {
  actor: string | null
  clientIp: string
  workspace: string | null
  target: string | null
}

export interface ExpectedAudit {
  clientIp: string | undefined
  /** Undefined without a token. */
  actor: string | undefined
  scope: Operation['policy']['workspace']
  /** The entry of a denied request may lack the workspace. */
  isRefused: boolean
  workspace: string | undefined
  /**
   * Request and response text, which must contain the target id. Undefined if the body is encrypted, or if a mailed secret
   * or a cookie authorizes the request.
   */
  logged: string | undefined
  /** From the response, or from the path of a denied request. */
  target: string | null | undefined
}

/** A mailed link or code authorizes these, without an access token. */
const bySecret = new Set([
  ...['password.reset', 'password.init', 'password.undoFactors'],
  ...['browserSessions.start', 'browserSessions.startWithPasskey'],
  ...['registration.passkeyOptions', 'registration.passkey'],
])

function idIn(path: string): string | null {
  return /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/.exec(path)?.[0] ?? null
}

function claimsOf(token: unknown): string {
  return typeof token === 'string' && token.startsWith('ey')
    ? Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
    : '{}'
}

/** Converts IPv4-mapped IPv6 to IPv4. */
function oneSpelling(address: string | null | undefined) {
  return address?.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
}

export function toExpectedAudit(
  { id, policy }: Operation,
  path: string,
  call: Call,
  { status, text, body }: Answer,
): ExpectedAudit {
  const claims = claimsOf(call.token)
  const isSealed = call.headers?.['x-secure-channel-session-id'] != null
  const hasCookie = call.headers?.cookie != null
  const logged = [path, call.workspace, JSON.stringify(call.body), claims, text, claimsOf(body?.data?.accessToken)]
  return {
    clientIp: oneSpelling({ ...requiredHeaders(), ...call.headers }['cf-connecting-ip']),
    actor: JSON.parse(claims).sub,
    scope: policy.workspace,
    isRefused: status !== 200,
    workspace: call.workspace,
    logged: isSealed || hasCookie || bySecret.has(id) ? undefined : logged.join(' ').toLowerCase(),
    target: status === 200 ? body?.data?.bizId : idIn(path),
  }
}

export function auditMismatches(requested: ExpectedAudit, line: AuditEntry): string[] {
  const { actor, clientIp, workspace, target } = line
  // The target of an exchange rate is a currency pair such as `USD/EUR`.
  const names = target?.toLowerCase().split('/') ?? []
  const isSomewhere =
    workspace === null ? requested.isRefused : requested.workspace === undefined || workspace === requested.workspace
  const isElsewhere = target === null || names.some((name) => requested.logged?.includes(name) === false)
  const wrong = {
    [`who: ${actor}`]: requested.actor !== undefined && actor !== requested.actor,
    [`from where: ${clientIp}`]: clientIp !== requested.clientIp,
    [`in which workspace: ${workspace}`]: requested.scope !== 'none' && !isSomewhere,
    [`to what: ${target}`]: requested.target === undefined ? isElsewhere : target !== requested.target,
  }
  return Object.keys(wrong).filter((what) => wrong[what])
}
