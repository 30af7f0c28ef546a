import { randomBytes } from 'node:crypto'
import { cookies, headers } from 'next/headers'
import { type Client, createClient, type Storage } from 'portico-client'
import { cache } from 'react'

/** Tokens of one user. They never leave this server. */
interface Session extends Storage {
  expiresAt: number
}

declare global {
  /** One for all bundles of the server. With several servers, use a store that they share, such as Redis. */
  var porticoSessions: Map<string, Session> | undefined
}

const sessions: Map<string, Session> = (globalThis.porticoSessions ??= new Map())
const lifetimeMs = 12 * 60 * 60 * 1_000
const isProduction = process.env.NODE_ENV === 'production'

/** Browsers refuse `__Host-` without TLS, except on this machine. */
const prefix = isProduction ? '__Host-' : ''
export const cookieNames = { session: `${prefix}session`, device: `${prefix}device`, attempt: `${prefix}attempt` }
export const cookieOptions = { httpOnly: true, secure: isProduction, sameSite: 'strict', path: '/' } as const

function clientWith(clientHash: string, clientIp: string, storage: Storage): Client<'CONSUMER'> {
  return createClient({
    baseUrl: process.env.PORTICO_URL ?? 'http://127.0.0.1:8080',
    portal: 'CONSUMER',
    accessCode: process.env.PORTICO_ACCESS_CODE ?? 'consumer-dev',
    clientHash,
    storage,
    // This server is the gateway's edge, so it names the address of the browser.
    edgeHeaders: { clientIp },
    // A reply of one user must not enter a cache that others share.
    fetch: (input, init) => fetch(input, { ...init, cache: 'no-store' }),
  })
}

/** Only an edge that replaces the header may be in front of this server. */
async function readClientIp(): Promise<string> {
  return (await headers()).get('cf-connecting-ip') ?? '127.0.0.1'
}

/** Identifies the browser for the gateway. It is not a credential. */
async function readDevice(): Promise<string> {
  return (await cookies()).get(cookieNames.device)?.value ?? ''
}

/** The client of this request, and of no other. Null without a sign-in. */
export const getClient = cache(async (): Promise<Client<'CONSUMER'> | null> => {
  const session = sessions.get((await cookies()).get(cookieNames.session)?.value ?? '')
  if (!session || session.expiresAt < Date.now()) return null
  const client = clientWith(await readDevice(), await readClientIp(), session)
  return (await client.session.tokens()) ? client : null
})

/** For a sign-in, whose tokens go to `storage`. */
export async function createNewClient(storage: Storage): Promise<Client<'CONSUMER'>> {
  const device = (await readDevice()) || randomBytes(32).toString('base64url')
  ;(await cookies()).set(cookieNames.device, device, { ...cookieOptions, maxAge: 400 * 24 * 60 * 60 })
  return clientWith(device, await readClientIp(), storage)
}

export function createSession(): Session {
  const items = new Map<string, string>()
  return {
    expiresAt: Date.now() + lifetimeMs,
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => {
      items.set(key, value)
    },
    removeItem: (key) => {
      items.delete(key)
    },
  }
}

/** Sets a new cookie, so that nobody can choose it before the sign-in. */
export async function startSession(session: Session): Promise<void> {
  for (const [id, { expiresAt }] of sessions) if (expiresAt < Date.now()) sessions.delete(id)
  await endSession()
  const id = randomBytes(32).toString('base64url')
  sessions.set(id, session)
  ;(await cookies()).set(cookieNames.session, id, cookieOptions)
}

export async function endSession(): Promise<void> {
  sessions.delete((await cookies()).get(cookieNames.session)?.value ?? '')
  await deleteCookie('session')
}

/** Browsers ignore a deletion of `__Host-` that lacks `secure`. */
export async function deleteCookie(name: keyof typeof cookieNames): Promise<void> {
  ;(await cookies()).set(cookieNames[name], '', { ...cookieOptions, maxAge: 0 })
}
