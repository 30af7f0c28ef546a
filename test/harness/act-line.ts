import type { Operation } from '../../src/kernel/index.ts'
import { type Answer, type Call, requiredHeaders } from './http.ts'

/** A line of the audit log, as far as a request lets one say what has to stand in it. */
export interface Line {
  actor: string | null
  clientIp: string
  workspace: string | null
  target: string | null
}

/** What both sides said of a command, carried out or refused. */
export interface Asked {
  clientIp: string | undefined
  /** Whom the token names; undefined where there is none of a session. */
  actor: string | undefined
  scope: Operation['policy']['workspace']
  /** Of whoever is no member of the workspace that they name none is told. */
  isRefused: boolean
  workspace: string | undefined
  /** Whatever was said, in which that has to be named to which it was done; undefined where it was sealed, or goes by a secret. */
  said: string | undefined
  /** What it was done to, where the answer says so, or would have been by its path, which may name nothing; otherwise undefined. */
  target: string | null | undefined
}

/** What somebody who is sent a link is asked for nothing else by. */
const bySecret = new Set(['password.reset', 'password.init'])

const idIn = (path: string): string | null => /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/.exec(path)?.[0] ?? null

const claimsOf = (token: unknown): string =>
  typeof token === 'string' && token.startsWith('ey')
    ? Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
    : '{}'

/** An IPv4 address within IPv6 is told as what it is. */
const oneSpelling = (address: string | null | undefined) => address?.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')

export const askedBy = ({ id, policy }: Operation, path: string, call: Call, { status, text, body }: Answer): Asked => {
  const claims = claimsOf(call.token)
  const isSealed = call.headers?.['x-secure-channel-session-id'] != null
  const said = [path, call.workspace, JSON.stringify(call.body), claims, text, claimsOf(body?.data?.accessToken)]
  return {
    clientIp: oneSpelling({ ...requiredHeaders(), ...call.headers }['cf-connecting-ip']),
    actor: JSON.parse(claims).sub,
    scope: policy.workspace,
    isRefused: status !== 200,
    workspace: call.workspace,
    said: isSealed || bySecret.has(id) ? undefined : said.join(' ').toLowerCase(),
    target: status === 200 ? body?.data?.bizId : idIn(path),
  }
}

/** What a line does not tell of the command that it stands for. */
export const untold = (asked: Asked, line: Line): string[] => {
  const { actor, clientIp, workspace, target } = line
  // A rate is named by its two currencies.
  const names = target?.toLowerCase().split('/') ?? []
  const isSomewhere =
    workspace === null ? asked.isRefused : asked.workspace === undefined || workspace === asked.workspace
  const isElsewhere = target === null || names.some((name) => asked.said?.includes(name) === false)
  const wrong = {
    [`who: ${actor}`]: asked.actor !== undefined && actor !== asked.actor,
    [`from where: ${clientIp}`]: clientIp !== asked.clientIp,
    [`in which workspace: ${workspace}`]: asked.scope !== 'none' && !isSomewhere,
    [`to what: ${target}`]: asked.target === undefined ? isElsewhere : target !== asked.target,
  }
  return Object.keys(wrong).filter((what) => wrong[what])
}
