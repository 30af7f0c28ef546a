import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { createIdentity } from '../../src/identity/index.ts'
import * as whitelist from '../../src/identity/ip-whitelist/contract.ts'
import * as auth from '../../src/identity/login/contract.ts'
import * as mfa from '../../src/identity/mfa/contract.ts'
import * as passwords from '../../src/identity/passwords/contract.ts'
import * as contract from '../../src/identity/sessions/contract.ts'
import { type Caller, type Operation, Refusal, type RequestContext } from '../../src/kernel/index.ts'
import { createLocalPubSub } from '../../src/platform/pubsub.ts'
import { call, createRequestContext, credential, harness, mailedCode } from './harness.ts'
import {
  type Command,
  createSignInModel,
  deviceOf,
  limits,
  type Proof,
  recent,
  strangersDevice,
} from './sign-in-model.ts'

const at = await harness(
  ({ portals, login, sessions }) => {
    portals.CONSUMER.codeSends.limit = 100_000
    portals.CONSUMER.forgot.limit = 100_000
    sessions.maxConcurrent = limits.maxSessions
    Object.assign(login, { attempts: limits.attempts, resendMs: 0 })
    login.failures.limit = limits.failures
  },
  (ports) => {
    const hash = async (password: string) => `plain:${password}`
    const verify = async (hashed: string | null, password: string) => hashed === (await hash(password))
    ports.passwords = { ...ports.passwords, hash, verify, isOutdated: () => false }
  },
)
afterAll(() => at.close())

/** Without invalidation messages, a replica must notice an ended session within 1 second. */
function anotherReplica() {
  return createIdentity({ ...at.ports, pubsub: createLocalPubSub() }, at.settings)
}

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

const accountCount = 2
const addresses = ['203.0.113.1', '198.51.100.1']
function clientIp(address: number): string {
  return addresses[address] ?? ''
}
function clientHash(device: number): string {
  return `device-${device}`
}

type ByToken = Exclude<Extract<Command, { address: number; session: number }>, { kind: 'refresh' }>

interface Family {
  sessionId: string
  account: number
  device: number
  access: string
  refresh: string[]
}

let serial = 0
let passwordSerial = 1_000
async function openWorld() {
  serial += 1
  const people = Array.from({ length: accountCount }, (_, index) => ({
    email: `personAt${serial}-${index}@demo.test`,
    password: 'correct horse battery staple',
    codes: [] as string[],
    oldCodes: [] as string[],
  }))
  for (const { email } of people) await at.account(email)
  const replicas = [await anotherReplica(), await anotherReplica()]
  let here = at.identity
  const logins: { id: string; account: number; device: number; code: string }[] = []
  const families: Family[] = []
  const links: { token: string; account: number }[] = []

  const personAt = (index: number) => {
    const found = people[index]
    if (!found) throw new Error(`no account ${index}`)
    return found
  }
  const invoke = <O extends Operation>(
    operation: O,
    more: Partial<RequestContext>,
    body: unknown = null,
    caller?: Caller,
  ) => call(here, operation, createRequestContext(at.clock, more), body, caller ?? null)

  const begin = async (account: number, device: number, right: boolean): Promise<void> => {
    const { email, password } = personAt(account)
    const more = { clientHash: clientHash(device), clientIp: clientIp(0) }
    const { sessionId } = await invoke(auth.initiateLogin, more, { email, password: right ? password : 'wrong' })
    await invoke(auth.sendLoginCode, more, { sessionId, mfaMethod: 'EMAIL' })
    logins.push({ id: sessionId ?? '', account, device, code: mailedCode(at, email) })
  }
  const finish = async (index: number, other: number, address: number, proof: Proof): Promise<void> => {
    const login = recent(logins, index)
    const own = personAt(login?.account ?? 0)
    const backup = (proof === 'backup' ? own.codes : own.oldCodes).at(-1) ?? 'AAAAA-AAAAA'
    const { code: mailed } = login ?? { code: '000000' }
    const code = proof === 'right' ? mailed : mailed.replace(/^./, (digit) => String(9 - Number(digit)))
    const isBackup = proof === 'backup' || proof === 'old backup'
    const factor = isBackup ? { mfaMethod: 'BACKUP_CODE', code: backup } : { mfaMethod: 'EMAIL', code }
    const device = login?.device ?? 0
    const more = { clientHash: clientHash(deviceOf({ device }, other)), clientIp: clientIp(address) }
    const made = await invoke(auth.completeLogin, more, { sessionId: login?.id ?? 'A'.repeat(43), ...factor })
    if (proof === 'backup') own.oldCodes.push(...own.codes.splice(-1))
    const { sessionId, accessToken, refreshToken } = made
    families.push({ sessionId, account: login?.account ?? 0, device, access: accessToken, refresh: [refreshToken] })
  }
  const refresh = async (command: Extract<Command, { kind: 'refresh' }>): Promise<void> => {
    const family = recent(families, command.session)
    const used = family ? family.refresh.length - 1 - (command.token % family.refresh.length) : 0
    const device = deviceOf(family ?? { device: 0 }, command.other)
    const more = { clientHash: clientHash(device), clientIp: clientIp(command.address) }
    const body = { refreshToken: family?.refresh[used] ?? 'A'.repeat(43) }
    const tabs = Array.from({ length: command.tabs }, () => invoke(auth.refreshToken, more, body))
    const outcomes = await Promise.all(tabs.map((tab) => tab.catch((error: unknown) => ({ error }))))
    const successors = new Set<string>()
    let failure: unknown
    for (const outcome of outcomes) {
      if ('error' in outcome) failure = outcome.error
      else if (family) {
        successors.add(outcome.refreshToken)
        family.access = outcome.accessToken
      }
    }
    if (successors.size > 0) {
      expect(failure).toBeUndefined()
      const known = family?.refresh[used + 1]
      expect([...successors]).toEqual([known ?? expect.any(String)])
      if (known === undefined) family?.refresh.push(...successors)
    }
    if (failure !== undefined) throw failure
  }
  const forgot = async (account: number): Promise<void> => {
    const { email } = personAt(account)
    await invoke(passwords.forgotPassword, {}, { email, turnstileToken: '' })
    await at.background.idle()
    const mail = at.outbox.list().find(({ to }) => to === email)
    links.push({ token: /#token=([\w-]+)/.exec(mail?.text ?? '')?.[1] ?? '', account })
  }
  const fresh = (): string => `violet-Anchor-Tundra-${passwordSerial++}`
  const reset = async (index: number): Promise<void> => {
    const link = recent(links, index)
    const newPassword = fresh()
    await invoke(passwords.resetPassword, {}, { token: link?.token ?? 'A'.repeat(43), newPassword })
    if (link) personAt(link.account).password = newPassword
  }

  const enter = async (index: number, address: number) => {
    const family = recent(families, index)
    const more = { clientHash: clientHash(family?.device ?? 0), clientIp: clientIp(address) }
    const token = family?.access ?? 'none'
    const caller = await here.authentication.accessToken({ ...credential(token, more), ...more })
    if (!family) throw new Error('no session')
    return { family, more, caller }
  }
  const within = async (command: ByToken): Promise<unknown> => {
    const { family, more, caller } = await enter(command.session, command.address)
    const own = personAt(family.account)
    const asOne = <O extends Operation>(operation: O, body: unknown = null) => invoke(operation, more, body, caller)
    switch (command.kind) {
      case 'change': {
        const newPassword = fresh()
        await asOne(passwords.changePassword, { currentPassword: own.password, newPassword })
        own.password = newPassword
        return
      }
      case 'logout':
        return asOne(auth.logout)
      case 'terminateAll':
        return asOne(contract.terminateAllSessions)
      case 'terminate':
        return asOne(contract.terminateSession, { sessionId: recent(families, command.target)?.sessionId })
      case 'bound':
        return asOne(contract.configureSessions, { maxConcurrentSessions: command.maxSessions })
      case 'generate': {
        const { codes } = await asOne(mfa.generateBackupCodes)
        // A repeated request gets the same codes, unless one of them is used.
        if (codes[0] !== own.codes[0]) own.oldCodes.push(...own.codes)
        own.codes = codes
        return
      }
      case 'allow':
        return asOne(whitelist.replaceIpWhitelist, { addresses: command.addresses.map(clientIp) })
      case 'enable':
        return asOne(whitelist.enableIpWhitelist, {})
      case 'disable':
        return asOne(whitelist.disableIpWhitelist)
      case 'stepUp': {
        await asOne(mfa.sendStepUpCode, { mfaMethod: 'EMAIL' })
        const code = mailedCode(at, own.email)
        const wrong = code.replace(/^./, (digit) => String(9 - Number(digit)))
        return asOne(mfa.stepUp, { mfaMethod: 'EMAIL', code: command.right ? code : wrong })
      }
    }
  }

  const auditContext = async (command: Command, replica: number): Promise<unknown> => {
    here = replicas[replica] ?? at.identity
    switch (command.kind) {
      case 'begin':
        return begin(command.account, command.device, command.right)
      case 'guess':
        return begin(command.account, strangersDevice, false)
      case 'signIn':
        await begin(command.account, command.device, true)
        return finish(0, 0, 0, 'right')
      case 'finish':
        return finish(command.login, command.other, command.address, command.proof)
      case 'refresh':
        return refresh(command)
      case 'forgot':
        return forgot(command.account)
      case 'reset':
        return reset(command.link)
      case 'wait':
        return at.clock.advance(command.seconds * 1_000)
      case 'restart':
        replicas[replica] = await anotherReplica()
        return
      default:
        return within(command)
    }
  }
  return { auditContext, enter, startedAt: at.clock.now() }
}
const [account, device, address] = [fc.nat(accountCount - 1), fc.nat(1), fc.constantFrom(0, 0, 0, 1)]
const [login, session, target, link, token] = [fc.nat(3), fc.nat(3), fc.nat(7), fc.nat(2), fc.nat(2)]
const other = fc.constantFrom(0, 0, 0, 0, 0, 1)
function kind<const K extends string>(name: K) {
  return fc.constant(name)
}
const [right, tabs, maxSessions] = [
  fc.constantFrom(true, true, false),
  fc.integer({ min: 1, max: 3 }),
  fc.integer({ min: 1, max: 4 }),
]
const set = fc.constantFrom([0], [0], [0, 1], [1], [])
const seconds = fc.constantFrom(1, 29, 30, 31, 31, 31, 45, 60, 60, 299, 300, 301, 600, 899, 900, 1_200, 1_800)
const proof = fc.constantFrom<Proof[]>('right', 'right', 'wrong', 'backup', 'backup', 'old backup', 'old backup')
const plain = fc.constantFrom('change', 'logout', 'terminateAll', 'generate', 'disable')
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: kind('signIn'), account, device }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('begin'), account, device, right }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('guess'), account }) },
  { weight: 8, arbitrary: fc.record({ kind: kind('finish'), login, other, address, proof }) },
  { weight: 10, arbitrary: fc.record({ kind: kind('refresh'), session, token, other, address, tabs }) },
  { weight: 4, arbitrary: fc.record({ kind: plain, session, address }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('terminate'), session, target, address }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('bound'), session, maxSessions, address }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('stepUp'), session, address, right }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('allow'), session, address, addresses: set }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('enable'), session, address }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('forgot'), account }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('reset'), link }) },
  { weight: 5, arbitrary: fc.record({ kind: kind('wait'), seconds }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('restart') }) },
)
/** Both accounts have backup codes. */
const beginning: [Command, number][] = [0, 1].flatMap((account) => [
  [{ kind: 'signIn', account, device: 0 }, 0],
  [{ kind: 'generate', session: 0, address: 0 }, 1],
  [{ kind: 'begin', account, device: 0, right: true }, 0],
  [{ kind: 'begin', account, device: 1, right: true }, 1],
])
const courses = fc.array(fc.tuple(command, fc.nat(1)), {
  minLength: 40,
  maxLength: 60,
  size: 'max',
})
const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)

test('any sequence of sign-ins, refreshes, step-ups, changes and sign-outs matches the model', async () => {
  const course = fc.asyncProperty(courses, async (commands) => {
    const real = await openWorld()
    const model = createSignInModel(accountCount)
    for (const [one, replica] of [...beginning, ...commands]) {
      expect(await refusalOf(real.auditContext(one, replica)), JSON.stringify([one, replica])).toBe(
        model.auditContext(one),
      )
      at.clock.advance(1_000)
      model.auditContext({ kind: 'wait', seconds: 1 })
    }
    for (const [index, session] of model.sessions.entries()) {
      const expected = model.enter(session, 0)
      const entered = real.enter(model.sessions.length - 1 - index, 0)
      expect(await refusalOf(entered)).toBe(expected)
      if (expected === 'none')
        expect((await entered).caller.steppedUpAt).toBe(
          session.steppedUp === null ? null : real.startedAt + session.steppedUp * 1_000,
        )
    }
  })
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  await fc.assert(course, { seed, numRuns: 10 })
})
