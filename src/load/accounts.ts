import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { generateSync } from 'otplib'
import * as z from 'zod'
import { type ApiClient, type Client, createApiClient, createClient, isPorticoError } from '../client/index.ts'
import { completeLogin, initiateLogin, logout, sendLoginCode } from '../identity/login/contract.ts'
import type { Clock, Instant, Operation } from '../kernel/index.ts'
import { developmentAccounts, developmentPassword } from '../seed/development.ts'
import type { MailedCode, OperationsListener } from './operations-listener.ts'
import type { Caller, Reader, Wallet } from './scenarios.ts'

const TestAccount = z.strictObject({
  email: z.string(),
  password: z.string(),
  /** The secret of an authenticator, in base 32. Without it, codes are read from the development outbox. */
  totpSecret: z.string().optional(),
})
export type TestAccount = z.output<typeof TestAccount>

/** Reads a YAML or JSON list of accounts. Throws an error that names no value. */
export function readAccountsFile(file: string): TestAccount[] {
  const parsed = z
    .array(TestAccount)
    .min(1)
    .safeParse(load(readFileSync(file, 'utf8')))
  if (parsed.success) return parsed.data
  const places = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`)
  throw new TypeError(`${file} must list accounts with email, password and optionally totpSecret. ${places.join('; ')}`)
}

/** Reads a file with one API key per line. */
export function readKeysFile(file: string): string[] {
  const keys = readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .map((line) => line.trim())
  return keys.filter((key) => key !== '' && !key.startsWith('#'))
}

/** The consumers of the development seed. */
export const seededAccounts: readonly TestAccount[] = developmentAccounts
  .filter(({ portal }) => portal === 'CONSUMER')
  .map(({ email }) => ({ email, password: developmentPassword }))

/** Runs an operation and measures it. */
export type Timed = <T>(operation: Operation, task: () => Promise<T>) => Promise<T>

/** A signed-in account or an API key that sends requests. */
export interface Actor extends Reader {
  /** The address of the account, or the number of the API key. */
  name: string
  /** Sends each request once. */
  caller: Caller
  /** Retries requests. */
  patient: Caller
  /** Signs in and out with a second client of the account. Null for an API key. */
  visit: ((timed: Timed) => Promise<void>) | null
  close(): Promise<void>
}

export interface AccountPorts {
  url: string
  consumerCode: string
  /** Whether to send the headers of an edge. */
  edgeHeaders: boolean
  timeoutMs: number
  operations: OperationsListener | null
  clock: Clock
  fetch: typeof globalThis.fetch
  pause(milliseconds: number): Promise<unknown>
}

/** Retries are disabled, so that each measured request is sent once and each outcome is visible. */
const retry = { attempts: 1 }
const otpStepMs = 30_000
const maxLimitWaitSeconds = 70

const maxAttempts = 5

/** Test accounts to sign in, or API keys. */
export type Identities = { accounts: readonly TestAccount[] } | { apiKeys: readonly string[] }

/** Signs in the accounts one after another, or checks the API keys. Signs out again if one of them fails. */
export async function openActors(identities: Identities, ports: AccountPorts): Promise<Actor[]> {
  const openers =
    'accounts' in identities
      ? identities.accounts.map(
          (account, index) => () => openOne(account.email, () => openAccount(account, index, ports)),
        )
      : identities.apiKeys.map((key, index) => () => openOne(`API key ${index + 1}`, () => openKey(key, index, ports)))
  const actors: Actor[] = []
  try {
    for (const open of openers) actors.push(await open())
  } catch (error) {
    await closeActors(actors)
    throw error
  }
  return actors
}

/** Signs out. A failure is ignored, because the sessions expire. */
export async function closeActors(actors: readonly Actor[]): Promise<void> {
  await Promise.allSettled(actors.map((actor) => actor.close()))
}

/** Returns a caller that retries, for reads that are not measured. */
function patient({ answer }: Caller, ports: AccountPorts): Caller {
  return {
    answer: (operation, args) => withRetries(ports, waitAfterFailure, () => answer(operation, args)),
  }
}

async function withRetries<T>(
  { pause }: AccountPorts,
  waitAfter: (error: unknown) => number | null,
  task: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await task()
    } catch (error) {
      const waitSeconds = waitAfter(error)
      if (waitSeconds === null || waitSeconds > maxLimitWaitSeconds || attempt >= maxAttempts) throw error
      await pause(waitSeconds * 1_000)
    }
}

/** Like `waitAfterLimit`. Also retries if the target did not respond or is overloaded. */
function waitAfterFailure(error: unknown): number | null {
  return isPorticoError(error) && (error.status === 0 || error.status >= 500) ? 1 : waitAfterLimit(error)
}

/** Returns the seconds until a retry after a rate limit, or null if a retry is not useful. */
function waitAfterLimit(error: unknown): number | null {
  return isPorticoError(error) && error.status === 429 ? error.retryAfter : null
}

async function openOne(name: string, open: () => Promise<Actor>): Promise<Actor> {
  try {
    const actor = await open()
    if (actor.wallets.length > 0) return actor
    await actor.close()
    throw new Error('it has no wallet')
  } catch (cause) {
    // The command line prints the message of the cause.
    const lacksBank = isPorticoError(cause) && cause.code === 'ROUTE.NOT_FOUND'
    const hint = lacksBank ? ': the target needs the domains profile, members, wallets and transfers' : ''
    throw new Error(`${name} cannot be used${isPorticoError(cause) ? ` (${cause.code})` : ''}${hint}`, { cause })
  }
}

async function openAccount(account: TestAccount, index: number, ports: AccountPorts): Promise<Actor> {
  const { url, consumerCode, edgeHeaders, timeoutMs, fetch } = ports
  const connect = (clientHash: string): Client<'CONSUMER'> =>
    createClient({
      baseUrl: url,
      portal: 'CONSUMER',
      accessCode: consumerCode,
      clientHash,
      timeoutMs,
      retry,
      fetch,
      edgeHeaders: edgeHeaders && { clientIp: clientIpOf(index) },
    })
  const client = connect(`portico-load-${index}`)
  const code = createCodeSource(account, ports)
  const { email, password, totpSecret } = account
  const mfaMethod = totpSecret === undefined ? 'EMAIL' : 'OTP'
  // An earlier run may have used the code of this time step. `code` then waits for the next one.
  const attempts = totpSecret === undefined ? 1 : 2
  await withRetries(ports, waitAfterLimit, () => client.signIn({ email, password, mfaMethod, code, attempts }))
  const { bizId: accountId } = await client.readProfile()
  const memberships = await client.listMyWorkspaces()
  const wallets: Wallet[] = []
  for (const { workspaceBizId: workspaceId } of memberships.filter(({ enterable }) => enterable))
    wallets.push(...(await client.listWallets({ workspaceId })).map(toWallet))
  return {
    name: email,
    email,
    accountId,
    workspaces: memberships.map(({ workspaceBizId }) => workspaceBizId),
    wallets,
    caller: client,
    patient: patient(client, ports),
    visit: createVisit(connect(`portico-load-visit-${index}`), account, code),
    close: () => client.signOut(),
  }
}

/** Returns an address of the range for documentation (RFC 5737), so that each account has its own limits. */
function clientIpOf(index: number): string {
  return `203.0.113.${(index % 254) + 1}`
}

/** Provides the codes of an account. An authenticator's code can be used once, so it waits for the next time step. */
function createCodeSource({ email, totpSecret }: TestAccount, { operations, clock, pause }: AccountPorts) {
  let mailed: MailedCode | null = null
  let usedStep = -1
  const stepAt = (at: Instant): number => Math.floor(at / otpStepMs)
  return async (): Promise<string> => {
    if (totpSecret !== undefined) {
      while (stepAt(clock.now()) <= usedStep) await pause(otpStepMs - (clock.now() % otpStepMs))
      const at = clock.now()
      usedStep = stepAt(at)
      return generateSync({ secret: totpSecret, epoch: Math.floor(at / 1_000) })
    }
    if (!operations) throw new Error(`${email} has no totpSecret, and there is no --operations-url with an outbox`)
    mailed = await operations.signInCode(email, mailed)
    return mailed.code
  }
}

function toWallet({ bizId, workspaceBizId, currency }: Wallet): Wallet {
  return { bizId, workspaceBizId, currency }
}

type Visit = (timed: Timed) => Promise<void>

/** Signs in step by step, so that each step is measured without the time that a user needs for the code. */
function createVisit(client: Client<'CONSUMER'>, account: TestAccount, code: () => Promise<string>): Visit {
  return async (timed) => {
    const { email, password } = account
    const mfaMethod = account.totpSecret === undefined ? 'EMAIL' : 'OTP'
    const { data: login } = await timed(initiateLogin, () =>
      client.answer(initiateLogin, { body: { email, password } }),
    )
    const { sessionId } = login
    if (sessionId === null) throw new Error(`${email} is pending approval`)
    if (mfaMethod === 'EMAIL')
      await timed(sendLoginCode, () => client.answer(sendLoginCode, { body: { sessionId, mfaMethod } }))
    const entered = await code()
    const { data } = await timed(completeLogin, () =>
      client.answer(completeLogin, { body: { sessionId, mfaMethod, code: entered } }),
    )
    await client.session.adopt(data)
    await timed(logout, () => client.answer(logout, {}))
    await client.session.clear()
  }
}

async function openKey(apiKey: string, index: number, ports: AccountPorts): Promise<Actor> {
  const { url, timeoutMs, fetch } = ports
  const client: ApiClient = createApiClient({ baseUrl: url, apiKey, timeoutMs, retry, fetch })
  const wallets = (await client.listWallets()).map(toWallet)
  return {
    name: `API key ${index + 1}`,
    email: null,
    accountId: null,
    workspaces: [...new Set(wallets.map(({ workspaceBizId }) => workspaceBizId))],
    wallets,
    caller: client,
    patient: patient(client, ports),
    visit: null,
    close: async () => undefined,
  }
}
