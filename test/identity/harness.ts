import { z } from 'zod'
import { localeDirectories } from '../../src/compose/catalogue.ts'
import { identitySettings } from '../../src/compose/identity.ts'
import { codedFamilies, codes } from '../../src/contract/index.ts'
import { createIdentity, type Identity, type IdentityPorts, type IdentitySettings } from '../../src/identity/index.ts'
import * as auth from '../../src/identity/login/contract.ts'
import {
  type AccountId,
  type Caller,
  chains,
  type Instant,
  type Operation,
  type Permission,
  type Portal,
  Refusal,
  type Request,
  type RequestContext,
} from '../../src/kernel/index.ts'
import { type BackgroundWork, createBackgroundWork } from '../../src/platform/background-work.ts'
import { noBreachCheck } from '../../src/platform/breached-passwords.ts'
import { createMemoryCache } from '../../src/platform/cache/index.ts'
import { noCaptcha } from '../../src/platform/captcha.ts'
import { createKeyedDigest, createPasswordHasher, createSecretBox } from '../../src/platform/crypto/index.ts'
import { createWords } from '../../src/platform/i18n/words.ts'
import { createJobRunner } from '../../src/platform/jobs/index.ts'
import { createOutbox, type Outbox, readMailTexts } from '../../src/platform/mail/index.ts'
import { createLocalPubSub } from '../../src/platform/pubsub.ts'
import { systemIds, systemRandomness } from '../../src/platform/runtime/index.ts'
import { createRequestContext, parseInput } from '../harness/request-context.ts'
import { loadSettings } from '../harness/settings.ts'
import { type TestClock, testClock } from './clock.ts'
import { type TestDatabase, testDatabase } from './database.ts'

export { createRequestContext } from '../harness/request-context.ts'

/** With limits that a test can change. Those of a gateway follow its configuration. */
export function defaultSettings(): IdentitySettings {
  const settings = identitySettings(loadSettings({}))
  for (const portal of Object.values(settings.portals)) {
    portal.codeSends = { ...portal.codeSends }
    portal.forgot = { ...portal.forgot }
    portal.registrationMails = { ...portal.registrationMails }
  }
  settings.login.failures = { ...settings.login.failures }
  return settings
}

const secretKeys = { current: new Uint8Array(32).fill(7), previous: [] }
/** Production's cost takes 11 ms per hash. These tests do not depend on it. */
const lowCost = { memoryCost: 64, timeCost: 1, parallelism: 1 }
const password = 'correct horse battery staple'

export interface Harness {
  identity: Identity
  ports: IdentityPorts
  settings: IdentitySettings
  clock: TestClock
  outbox: Outbox
  background: BackgroundWork
  loggedErrors: unknown[]
  /** Creates another replica on the same store. */
  replica(): Promise<Identity>
  account(
    email: string,
    more?: {
      portal?: Portal
      status?: 'PENDING_APPROVAL' | 'SUSPENDED'
      operatorPermissions?: Permission[]
    },
  ): Promise<AccountId>
  close(): Promise<void>
}

/** `change` and `changePorts` run before identity is created. */
export async function harness(
  change: (settings: IdentitySettings) => void = () => {},
  changePorts: (ports: IdentityPorts) => void = () => {},
  store: TestDatabase | undefined = undefined,
): Promise<Harness> {
  const { database, close } = store ?? (await testDatabase())
  const faults: unknown[] = []
  const background = createBackgroundWork(
    { concurrency: 4, capacity: 100, spreadMs: 0, attempts: 2, retryMs: 1, closeMs: 2_000 },
    { warn: () => undefined, error: (line: unknown) => void faults.push(line) },
    systemRandomness,
  )
  const clock = testClock()
  const settings = defaultSettings()
  change(settings)
  const outbox = createOutbox(await readMailTexts('assets/mails'), clock, 50)
  const ports: IdentityPorts = {
    database,
    cache: createMemoryCache(clock, 10_000),
    pubsub: createLocalPubSub(),
    mailer: outbox,
    codeMails: outbox,
    words: createWords({ directories: localeDirectories, codes, families: codedFamilies }),
    clock,
    ids: systemIds,
    randomness: systemRandomness,
    secretBox: createSecretBox(secretKeys, systemRandomness),
    digest: createKeyedDigest(secretKeys),
    passwords: createPasswordHasher({ concurrency: 2, waiting: 200 }, systemRandomness, lowCost),
    dependencies: { failed: () => undefined, works: () => undefined },
    background,
    captcha: noCaptcha,
    breachedPasswords: noBreachCheck,
    openWorkspace: async () => undefined,
    purposes: {
      findOperation: () => undefined,
      enter: () => Promise.reject(new Refusal('ACCESS.PERMISSION_DENIED')),
      readWallet: async () => undefined,
      readOrder: async () => undefined,
      maskedAccountOf: async () => undefined,
      roleName: async () => undefined,
      memberEmail: async () => undefined,
    },
    findTicketOperation: () => undefined,
    chainsOf: (operation) => operation.chains.map((id) => chains[id]),
    suspendCredentials: async () => ({}),
    applyProviderRights: async () => undefined,
    holdPayouts: async () => undefined,
    permissionsOfRole: () => [],
    countOpening: () => undefined,
    isCountry: (code) => code === 'DE' || code === 'US',
  }
  changePorts(ports)
  const identity = await createIdentity(ports, settings)
  return {
    identity,
    ports,
    settings,
    clock,
    outbox,
    background,
    loggedErrors: faults,
    replica: () => createIdentity(ports, settings),
    account: async (email, { portal = 'CONSUMER', ...more } = {}) => {
      const created = await identity.provideAccount({ portal, email, password, name: 'Test', ...more })
      return created.accountId
    },
    close: async () => {
      await background.close()
      await close()
    },
  }
}

const Erased = z.custom<Request<Operation>>(() => true)

/** Parses the body and validates the reply, like the pipeline. */
export async function call<O extends Operation>(
  ...[identity, operation, request, body, caller]: Parameters<typeof invoke<O>>
): Promise<z.output<Extract<O['reply'], z.ZodType>>> {
  const schema = operation.reply as Extract<O['reply'], z.ZodType>
  return schema.parse(await invoke(identity, operation, request, body, caller)) as z.output<
    Extract<O['reply'], z.ZodType>
  >
}

/** Returns the reply as the handler wrote it, which can set a cookie. */
export async function invoke<O extends Operation>(
  identity: Identity,
  operation: O,
  request: RequestContext,
  body: unknown = null,
  caller: Caller | null = null,
): Promise<unknown> {
  const handler = identity.handlers.get(operation.id)
  if (!handler) throw new Error(`no handler for ${operation.id}`)
  const full = {
    ...request,
    operationId: operation.id,
    body: parseInput(operation.body, body),
    params: {},
    query: {},
    caller,
    workspace: null,
  }
  return handler(Erased.parse({ ...full, idempotency: null, upload: null }))
}

export function jobRunner(at: Harness) {
  return createJobRunner({
    ...at.ports,
    settings: { concurrency: 1, pollMs: 1_000, leaseMs: 30_000 },
    kinds: at.identity.jobs,
    onFailure: ({ error }) => void at.loggedErrors.push(error),
    onDropped: () => undefined,
  })
}

export async function runJobs(at: Harness, runner = jobRunner(at)): Promise<void> {
  while (await runner.runOne());
}

export async function refusalOf(promise: Promise<unknown>): Promise<Refusal> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('the promise did not reject')
}
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  return (await refusalOf(promise)).code
}

export function initiate(at: Harness, email: string, more: Partial<RequestContext> = {}, pass = password) {
  return call(at.identity, auth.initiateLogin, createRequestContext(at.clock, more), { email, password: pass })
}

export function mailedCode({ outbox }: Harness, to: string): string {
  const mail = outbox.list().find((each) => each.to === to)
  const code = /\b\d{6}\b/.exec(mail?.text ?? '')?.[0]
  if (!code) throw new Error(`no code was mailed to ${to}`)
  return code
}

export function complete(
  at: Harness,
  sessionId: string | null,
  code: string,
  more: Partial<RequestContext> = {},
  identity = at.identity,
) {
  return call(identity, auth.completeLogin, createRequestContext(at.clock, more), {
    sessionId,
    mfaMethod: 'EMAIL',
    code,
  })
}

export function send(at: Harness, sessionId: string | null, more: Partial<RequestContext> = {}) {
  return call(at.identity, auth.sendLoginCode, createRequestContext(at.clock, more), { sessionId, mfaMethod: 'EMAIL' })
}

/** Returns the mailed code. */
export async function begin(at: Harness, email: string, more: Partial<RequestContext> = {}) {
  const { sessionId } = await initiate(at, email, more)
  await send(at, sessionId, more)
  return { sessionId, code: mailedCode(at, email) }
}

export async function signIn(at: Harness, email: string, more: Partial<RequestContext> = {}) {
  const { sessionId, code } = await begin(at, email, more)
  return complete(at, sessionId, code, more)
}

export async function signedIn(at: Harness, email: string): Promise<Caller> {
  const { accessToken } = await signIn(at, email)
  return at.identity.authentication.accessToken(credential(accessToken))
}

export function credential(
  token: string,
  more: Partial<{
    portal: Portal | null
    clientHash: string
    bypassCache: boolean
    receivedAt: Instant
  }> = {},
) {
  return {
    token,
    portal: 'CONSUMER' as const,
    clientHash: 'client-one',
    clientIp: '203.0.113.9',
    bypassCache: false,
    ...more,
  }
}
