import { rmSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Domain } from '../api/domain.ts'
import { bankingDomains } from '../banking/index.ts'
import { type Client, createClient } from '../client/index.ts'
import { loadConfiguration, portalMounts } from '../config/index.ts'
import { type Database, openDatabase } from '../database/index.ts'
import { addMs, type Clock, type FixedPortal } from '../kernel/index.ts'
import { startServer } from '../main.ts'
import { systemClock } from '../platform/runtime/index.ts'
import { createLogger } from '../platform/telemetry/index.ts'
import { developmentPassword } from '../seed/development.ts'
import { accessCodes } from './http.ts'

export interface StartOptions<Added extends readonly object[] = []> {
  /** Default: `bankingDomains`. */
  domains?: readonly Domain[]
  /** Configuration that overrides the defaults, such as `{ domains: { loans: { maxAmount: '5.00' } } }`. */
  settings?: object
  /** Contract modules of the domains, for the typed clients. */
  contract?: Added
}

/** A mail of the development outbox. */
export interface TestMail {
  to: string
  subject: string
  text: string
}

/** The methods of a typed client that `stepUp` uses. */
export type StepUpClient = Pick<Client<FixedPortal>, 'sendStepUpCode' | 'stepUp'>

/** The command that a step-up confirms. */
export interface StepUpPurpose {
  operationId: string
  /** Default: the default workspace of the account. */
  workspaceBizId?: string
  [field: string]: unknown
}

/** The time of a gateway. It goes on like the time of the system, and tests can advance it. */
export interface TestClock extends Clock {
  advance(milliseconds: number): void
}

/** One person with accounts on both portals. */
export interface TestPerson<Added extends readonly object[] = []> {
  consumer: Client<'CONSUMER', Added>
  operator: Client<'SYSTEM', Added>
}

/** A gateway on an embedded store with the development accounts. */
export interface TestPortico<Added extends readonly object[] = []> {
  /** URL of the portal listener. */
  url: string
  /** URL of the operations listener. */
  operationsUrl: string
  /** Returns the newest matching mail to an address. Waits up to ten seconds. */
  mailTo(address: string, matches?: RegExp): Promise<TestMail>
  /** Creates a typed client without a sign-in. */
  clientOf<const P extends FixedPortal>(portal: P): Client<P, Added>
  /**
   * Creates a typed client without a sign-in, for a portal that `settings.portals` declares. `accessCode` is the plain text of one
   * of its `accessCodes`.
   */
  clientOfAdditional(portal: string, accessCode: string): Client<'CONSUMER', Added>
  /** Signs in a consumer, such as `owner@demo.test`. Steps up, unless `mfa.binding` is `purpose`. */
  signInConsumer(email: string): Promise<Client<'CONSUMER', Added>>
  /** Signs in an operator, such as `operator@demo.test`. Steps up, unless `mfa.binding` is `purpose`. */
  signInOperator(email: string): Promise<Client<'SYSTEM', Added>>
  /**
   * Signs in and steps up an operator, such as `operator@demo.test`, on both portals. The first call registers the
   * consumer account, which owns a workspace. Separation of duties treats both accounts as one person.
   */
  signInPerson(email: string): Promise<TestPerson<Added>>
  clock: TestClock
  /**
   * Runs one attempt at a job, such as `loans.expire`, whether or not it is due. Rejects with its error, and for an
   * unknown name.
   */
  runJob(name: string, payload?: object): Promise<void>
  /**
   * Steps up the person who has signed in with `client`, by a mailed code. The purpose names a command: `operationId`
   * and the fields in `confirms` of the operation.
   */
  stepUp(client: StepUpClient, email: string, purpose?: StepUpPurpose): Promise<void>
  /** Stops the gateway and deletes its store. */
  stop(): Promise<void>
}

const Mail = z.object({ to: z.string(), subject: z.string(), text: z.string(), template: z.string() })

const maxWaitMs = 10_000
const pollMs = 20

/** Each gateway gets a copy of one store without tables, because creating a store takes seconds. */
let emptyStore: Promise<string> | undefined

/**
 * Starts a gateway in this process, on a temporary embedded store and free ports. Rate limits are multiplied by 1,000.
 * The log shows errors only, such as the one behind a 500. Change that by `settings: { log: { level: 'silent' } }`.
 */
export async function startPortico<const Added extends readonly object[] = []>(
  options: StartOptions<Added> = {},
): Promise<TestPortico<Added>> {
  const { database: _, ...portico } = await startTestGateway(options)
  return portico
}

/** `startPortico`, with the store. */
export async function startTestGateway<const Added extends readonly object[] = []>({
  domains = bankingDomains,
  settings = {},
  contract,
}: StartOptions<Added>): Promise<TestPortico<Added> & { database: Database }> {
  const folder = await mkdtemp(join(tmpdir(), 'portico-testing-'))
  const file = join(folder, 'portico.yaml')
  // JSON is valid YAML.
  const defaults = { shutdown: { delayMs: 0 }, log: { level: 'error', format: 'pretty' } }
  await writeFile(file, JSON.stringify({ ...defaults, ...settings }))
  const variables = { PORTICO_CONFIG: file, PORTICO_DATA_DIR: join(folder, 'data'), PORTICO_RATE_LIMIT_SCALE: '1000' }
  const configuration = loadConfiguration({ ...variables, PORT: '0', OPS_PORT: '0' }, domains)
  emptyStore ??= createEmptyStore()
  await cp(await emptyStore, configuration.dataDirectory, { recursive: true })
  const { level, format } = configuration.log
  const logger = createLogger(level, undefined, format)
  const clock = createTestClock()
  const running = await startServer(domains, configuration, 'gateway', logger, { clock }).catch(
    async (error: unknown) => {
      await rm(folder, { recursive: true, force: true })
      throw error
    },
  )
  const url = `http://127.0.0.1:${running.port}`
  const operationsUrl = `http://127.0.0.1:${running.operationsPort}`

  const newestMail = async (matches: (mail: z.output<typeof Mail>) => boolean, wanted: string): Promise<TestMail> => {
    for (let waitedMs = 0; waitedMs < maxWaitMs; waitedMs += pollMs) {
      const mails = z.array(Mail).parse(await (await fetch(`${operationsUrl}/mail.json`)).json())
      const found = mails.find(matches)
      if (found) return found
      await pause(pollMs)
    }
    throw new Error(`no mail ${wanted}`)
  }
  const mailTo = (address: string, matches = /(?:)/): Promise<TestMail> =>
    newestMail(({ to, text }) => to === address && matches.test(text), `to ${address} matches ${matches}`)
  const clientOf = <const P extends FixedPortal>(portal: P): Client<P, Added> =>
    createClient({
      baseUrl: url,
      portal,
      accessCode: accessCodes[portal],
      edgeHeaders: true,
      now: () => clock.now(),
      ...(contract && { contract }),
    })
  const clientOfAdditional = (portal: string, accessCode: string): Client<'CONSUMER', Added> => {
    const mount = portalMounts(configuration.portals).find((each) => each.portal === portal)
    if (!mount) throw new TypeError(`the configuration declares no portal ${portal}`)
    const options = { baseUrl: url, edgeHeaders: true, now: () => clock.now(), ...(contract && { contract }) }
    return createClient({ ...options, portal: 'CONSUMER', mount, accessCode })
  }
  const codeFor = async (
    email: string,
    wanted: 'login-code' | 'step-up-code' | 'registration-code',
  ): Promise<string> => {
    const mail = await newestMail(({ to, template }) => to === email && template === wanted, `${wanted} to ${email}`)
    return /\b\d{6}\b/.exec(mail.text)?.[0] ?? ''
  }
  const stepUp = async (client: StepUpClient, email: string, purpose?: StepUpPurpose): Promise<void> => {
    const named = purpose && { purpose }
    await client.sendStepUpCode({ body: { mfaMethod: 'EMAIL', ...named } })
    await client.stepUp({ body: { mfaMethod: 'EMAIL', code: await codeFor(email, 'step-up-code'), ...named } })
  }
  const enter = async (client: StepUpClient & Pick<Client<FixedPortal>, 'signIn'>, email: string) => {
    await client.signIn({ email, password: developmentPassword, code: () => codeFor(email, 'login-code') })
    if (configuration.mfa.binding === 'session') await stepUp(client, email)
  }

  const registered = new Set<string>()
  const register = async (client: Client<'CONSUMER'>, email: string): Promise<void> => {
    const { sessionId } = await client.initiateRegistration({ body: { email, turnstileToken: '' } })
    await client.verifyRegistrationEmail({ body: { sessionId, code: await codeFor(email, 'registration-code') } })
    const { passwordInitToken } = await client.completeRegistration({
      body: { sessionId, accountName: 'Both portals' },
    })
    await client.initPassword({ body: { token: passwordInitToken, newPassword: developmentPassword } })
    registered.add(email)
  }

  return {
    url,
    operationsUrl,
    clock,
    database: running.database,
    runJob: (name, payload = {}) => running.runJob(name, payload),
    mailTo,
    clientOf,
    clientOfAdditional,
    signInConsumer: async (email) => {
      const client = clientOf('CONSUMER')
      await enter(client, email)
      return client
    },
    signInOperator: async (email) => {
      const client = clientOf('SYSTEM')
      await enter(client, email)
      return client
    },
    signInPerson: async (email) => {
      const [consumer, operator] = [clientOf('CONSUMER'), clientOf('SYSTEM')]
      await enter(operator, email)
      if (!registered.has(email)) await register(clientOf('CONSUMER'), email)
      await enter(consumer, email)
      return { consumer, operator }
    },
    stepUp,
    stop: async () => {
      await running.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function createEmptyStore(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-testing-store-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const options = { isDurable: false, minimumFreeBytes: 0, onDiskFull: () => undefined }
  await (await openDatabase({ kind: 'embedded', directory, ...options })).close()
  return directory
}

function createTestClock(): TestClock {
  let aheadMs = 0
  return {
    now: () => addMs(systemClock.now(), aheadMs),
    advance: (milliseconds) => {
      if (!(milliseconds >= 0)) throw new RangeError('a clock advances by at least 0 ms')
      aheadMs += milliseconds
    },
  }
}
