/*
 * Accounts, devices and client addresses are indexes. Sign-ins, sessions and links are counted from the newest one.
 * Times are in seconds.
 */

/** A mailed code, right or wrong, or a backup code, new or of an older set. */
export type Proof = 'right' | 'wrong' | 'backup' | 'old backup'

export type Command =
  | { kind: 'begin'; account: number; device: number; right: boolean }
  /** A stranger with a third device guesses a password. */
  | { kind: 'guess'; account: number }
  | { kind: 'finish'; login: number; other: number; address: number; proof: Proof }
  | { kind: 'signIn'; account: number; device: number }
  | { kind: 'refresh'; session: number; token: number; other: number; address: number; tabs: number }
  | { kind: 'change' | 'logout' | 'terminateAll' | 'generate' | 'enable' | 'disable'; session: number; address: number }
  | { kind: 'terminate'; session: number; target: number; address: number }
  | { kind: 'bound'; session: number; maxSessions: number; address: number }
  | { kind: 'stepUp'; session: number; address: number; right: boolean }
  | { kind: 'allow'; session: number; address: number; addresses: readonly number[] }
  | { kind: 'forgot'; account: number }
  | { kind: 'reset'; link: number }
  | { kind: 'wait'; seconds: number }
  | { kind: 'restart' }

interface Failures {
  since: number
  count: number
  inARow: number
  blockedUntil: number | null
}
interface Account {
  maxSessions: number
  addresses: readonly number[]
  guarded: boolean
  /** Number of unused codes in the current set. */
  backups: number
  /** Failures per known device, and for all unknown devices together. */
  logins: Map<number | 'unknown', Failures>
  known: Set<number>
  factors: Failures
}
interface Login {
  account: Account
  device: number
  startedAt: number
  triesLeft: number
  spent: boolean
}
interface Session {
  account: Account
  device: number
  startedAt: number
  usedAt: number
  /** Null before the first step-up. */
  steppedUp: number | null
  factors: Failures
  /** Expiry of the newest access token. */
  accessUntil: number
  ended: boolean
  /** When each refresh token of the family was used, oldest first. */
  tokens: (number | null)[]
}

/** A session has half of the account's failures, rounded up. */
export const limits = { failures: 3, ofSession: 2, attempts: 3, maxSessions: 3, backups: 10 }
const [minute, hour] = [60, 3_600]
const lives = { login: 10 * minute, link: 30 * minute, access: 15 * minute, idle: 30 * minute, session: 12 * hour }
const window = 15 * minute

const invalid = 'ACCESS.TOKEN_INVALID'
const unknown = 'AUTH.SESSION_NOT_FOUND'
export function deviceOf({ device }: { device: number }, other: number): number {
  return (device + other) % 2
}
export function recent<T>(list: readonly T[], index: number): T | undefined {
  return list.at(-1 - (index % list.length))
}

/** A stranger never completes a sign-in. */
export const strangersDevice = 2

function none(): Failures {
  return { since: 0, count: 0, inARow: 0, blockedUntil: null }
}
/** More than ten times the limit in a row also leads to a lockout. */
function effectiveFailures({ count, inARow }: Failures, limit: number): number {
  return Math.max(count, inARow - 9 * limit)
}

export function createSignInModel(accountCount: number) {
  const accounts = Array.from(
    { length: accountCount },
    (): Account => ({
      maxSessions: limits.maxSessions,
      addresses: [],
      guarded: false,
      backups: 0,
      logins: new Map(),
      known: new Set(),
      factors: none(),
    }),
  )
  const accountAt = (index: number): Account => {
    const found = accounts[index]
    if (!found) throw new Error(`no account ${index}`)
    return found
  }
  const logins: Login[] = []
  const sessions: Session[] = []
  const links: { account: Account; made: number; spent: boolean }[] = []
  let now = 0

  const isRunning = ({ ended, startedAt, usedAt }: Session): boolean =>
    !ended && now < startedAt + lives.session && now < usedAt + lives.idle
  const isAllowedFrom = ({ guarded, addresses }: Account, address: number): boolean =>
    !guarded || addresses.includes(address)

  /** Counts a failure in advance. Returns whether the check may continue. */
  const count = (tried: Failures, limit = limits.failures): boolean => {
    if (tried.blockedUntil !== null && now < tried.blockedUntil) return false
    const isOver =
      tried.count >= limit ? now - (tried.blockedUntil ?? tried.since) >= 24 * hour : now - tried.since >= window
    const last = Math.max(tried.since, tried.blockedUntil ?? 0)
    tried.inARow = now - last >= 24 * hour ? 1 : tried.inARow + 1
    if (tried.count === 0 || isOver) Object.assign(tried, { since: now, count: 1 })
    else tried.count += 1
    const wait = Math.min(hour, minute * 2 ** (effectiveFailures(tried, limit) - limit))
    tried.blockedUntil = effectiveFailures(tried, limit) >= limit ? now + wait : null
    return true
  }
  const withdraw = (tried: Failures, limit = limits.failures): void => {
    tried.blockedUntil = effectiveFailures(tried, limit) > limit ? now : null
    tried.count -= 1
    tried.inARow -= 1
  }

  const endAll = (account: Account, maxRemaining: number, except?: Session): void => {
    const all = sessions.filter((session) => session.account === account && session !== except && !session.ended)
    const stay = new Set(maxRemaining === 0 ? [] : all.filter(isRunning).slice(-maxRemaining))
    for (const session of all) session.ended ||= !stay.has(session)
  }
  const cancelPending = (account: Account): void => {
    for (const one of [...logins, ...links]) if (one.account === account) one.spent = true
  }

  const failuresOf = ({ known, logins: counters }: Account, device: number): Failures => {
    const counter = known.has(device) ? device : 'unknown'
    const failures = counters.get(counter) ?? none()
    counters.set(counter, failures)
    return failures
  }

  const begin = (account: Account, device: number, right: boolean): string => {
    const failures = failuresOf(account, device)
    if (!count(failures)) return 'ACCESS.RATE_LIMITED'
    if (!right) return 'AUTH.INVALID_CREDENTIALS'
    withdraw(failures)
    logins.push({ account, device, startedAt: now, triesLeft: limits.attempts, spent: false })
    return 'none'
  }
  const finish = (login: Login | undefined, other: number, address: number, proof: Proof): string => {
    if (!login || login.spent || login.triesLeft === 0 || now >= login.startedAt + lives.login) return unknown
    if (deviceOf(login, other) !== login.device) {
      login.triesLeft -= 1
      return 'AUTH.CLIENT_MISMATCH'
    }
    const { account } = login
    if (!isAllowedFrom(account, address)) return 'ACCESS.IP_NOT_ALLOWED'
    const failures = failuresOf(account, login.device)
    if (!count(failures)) return 'ACCESS.RATE_LIMITED'
    login.triesLeft -= 1
    const isGood = proof === 'right' || (proof === 'backup' && account.backups > 0)
    if (!isGood) return 'AUTH.CODE_INVALID'
    if (proof === 'backup') account.backups -= 1
    login.spent = true
    Object.assign(failures, none())
    account.known.add(login.device)
    endAll(account, account.maxSessions - 1)
    const times = { startedAt: now, usedAt: now, steppedUp: null, accessUntil: now + lives.access }
    sessions.push({ account, device: login.device, ...times, factors: none(), ended: false, tokens: [null] })
    return 'none'
  }

  const authenticate = (session: Session | undefined, address: number): string => {
    if (!session || now >= session.accessUntil || !isRunning(session)) return invalid
    if (!isAllowedFrom(session.account, address)) return 'ACCESS.IP_NOT_ALLOWED'
    if (now - session.usedAt >= minute) session.usedAt = now
    return 'none'
  }
  const refresh = (session: Session | undefined, token: number, other: number, address: number): string => {
    if (!session || deviceOf(session, other) !== session.device || !isRunning(session)) return unknown
    if (!isAllowedFrom(session.account, address)) return 'ACCESS.IP_NOT_ALLOWED'
    const at = session.tokens.length - 1 - (token % session.tokens.length)
    const spent = session.tokens[at] ?? null
    const isSuccessorUsed = (session.tokens[at + 1] ?? null) !== null
    if (spent !== null && (isSuccessorUsed || now - spent > 300)) {
      session.ended = true
      return unknown
    }
    if (spent === null) {
      session.tokens[at] = now
      session.tokens.push(null)
    }
    session.usedAt = now
    session.accessUntil = Math.min(now + lives.access, session.startedAt + lives.session)
    return 'none'
  }

  const perform = (session: Session, command: Command): string => {
    const { account } = session
    switch (command.kind) {
      case 'change':
        cancelPending(account)
        endAll(account, 0, session)
        return 'none'
      case 'logout':
        session.ended = true
        return 'none'
      case 'terminateAll':
        endAll(account, 0, session)
        return 'none'
      case 'terminate': {
        const target = recent(sessions, command.target)
        if (target?.account !== account || target.ended) return 'RESOURCE.NOT_FOUND'
        target.ended = true
        return 'none'
      }
      case 'bound':
        account.maxSessions = command.maxSessions
        endAll(account, command.maxSessions - 1, session)
        return 'none'
      case 'generate':
        account.backups = limits.backups
        return 'none'
      case 'allow':
        if (account.guarded && !command.addresses.includes(command.address)) return 'STATE.CONFLICT'
        account.addresses = command.addresses
        return 'none'
      case 'enable':
        if (!account.addresses.includes(command.address)) return 'STATE.CONFLICT'
        account.guarded = true
        return 'none'
      case 'disable':
        account.guarded = false
        return 'none'
      case 'stepUp':
        if (!count(session.factors, limits.ofSession)) return 'ACCESS.RATE_LIMITED'
        if (!count(account.factors)) {
          withdraw(session.factors, limits.ofSession)
          return 'ACCESS.RATE_LIMITED'
        }
        if (!command.right) return 'AUTH.CODE_INVALID'
        Object.assign(session.factors, none())
        Object.assign(account.factors, none())
        session.steppedUp = now
        return 'none'
      default:
        throw new Error(command.kind)
    }
  }

  const reset = (index: number): string => {
    const link = recent(links, index)
    if (!link || link.spent || now >= link.made + lives.link) return unknown
    cancelPending(link.account)
    link.account.logins.clear()
    link.account.known.clear()
    // A course is shorter than the suspicion window, so the codes are young.
    link.account.backups = 0
    Object.assign(link.account.factors, none())
    endAll(link.account, 0)
    return 'none'
  }

  /** Returns the code of the refusal, or `none`. */
  const auditContext = (command: Command): string => {
    switch (command.kind) {
      case 'begin':
        return begin(accountAt(command.account), command.device, command.right)
      case 'guess':
        return begin(accountAt(command.account), strangersDevice, false)
      case 'signIn': {
        const startedAt = begin(accountAt(command.account), command.device, true)
        return startedAt === 'none' ? finish(logins.at(-1), 0, 0, 'right') : startedAt
      }
      case 'finish':
        return finish(recent(logins, command.login), command.other, command.address, command.proof)
      case 'refresh':
        return refresh(recent(sessions, command.session), command.token, command.other, command.address)
      case 'forgot':
        links.push({ account: accountAt(command.account), made: now, spent: false })
        return 'none'
      case 'reset':
        return reset(command.link)
      case 'wait':
        now += command.seconds
        return 'none'
      case 'restart':
        return 'none'
      default: {
        const session = recent(sessions, command.session)
        const entered = authenticate(session, command.address)
        return session && entered === 'none' ? perform(session, command) : entered
      }
    }
  }
  return { auditContext, enter: authenticate, sessions }
}
